// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Synchronization
internal import TransferCore

/// Files sent by a form.
///
/// Each is written to a separate partial file, and all land when the form is complete.
///
/// - Source: RFC 7578.
final class FormUpload: UploadFlow {
    private struct File {
        var part: UploadName
        /// Open only while the content arrives: a form can have more files than a process has descriptors.
        var sink: UploadSink?
        var size: Int64 = 0
        var hasLanded = false
        var place: LandingPlace
        var type: String?
        var original: String

        mutating func close() {
            self.size = self.sink?.offset ?? self.size
            self.sink = nil
        }
    }

    private struct State {
        var parser: FormParser
        var files: [File] = []
        var fields: [JSON.Member] = []
        var fieldBytes = 0
        var current = Current.nothing
        var value: [UInt8] = []
        var fieldName = ""
    }

    private enum Current { case nothing, file, field }

    /// The maximum total size of all fields except files, in bytes.
    private static let mostFieldBytes = 64 * 1024

    private let area: UploadArea
    private let directory: TreePath
    private let request: Request
    private let state: Mutex<State>

    init(_ area: UploadArea, _ directory: TreePath, _ boundary: [UInt8], _ request: Request) {
        self.area = area
        self.directory = directory
        self.request = request
        self.state = Mutex(State(parser: FormParser(boundary: boundary)))
    }

    func open() throws(UploadRefusal) -> UploadOpening {
        // The length of the form slightly exceeds that of its files.
        try self.area.admit(length: self.request.head.contentLength)
        return UploadOpening(sink: Sink(upload: self))
    }

    private struct Sink: BodySink {
        let upload: FormUpload

        func take(_ bytes: UnsafeRawBufferPointer) throws(UploadRefusal) { try self.upload.take(bytes) }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) throws(UploadRefusal) {
        let outcome = self.state.withLock { state -> Result<Void, UploadRefusal> in
            Result { () throws(UploadRefusal) in
                var parser = state.parser
                try parser.take(bytes) { (event) throws(UploadRefusal) in try self.take(event, &state) }
                state.parser = parser
            }
        }
        try outcome.get()
    }

    private func take(_ event: FormParser.Event, _ state: inout State) throws(UploadRefusal) {
        switch event {
        case .part(let name, let fileName, let type):
            state.value = []
            state.fieldName = name
            guard let fileName else {
                state.current = .field
                return
            }
            state.current = .nothing
            // A file field that the user left empty.
            guard !fileName.isEmpty else { return }
            let place = try LandingPlace(in: self.directory, proposed: fileName, type: type, now: Timestamp.now)
            let part = UploadName()
            try self.area.admit(length: nil)
            let file = try self.area.makePart(part.part)
            let sink = UploadSink(file, bounds: self.area.bounds(length: nil), budget: self.area.budget)
            state.files.append(File(part: part, sink: sink, place: place, type: type, original: fileName))
            state.current = .file
        case .content(let bytes):
            switch state.current {
            case .nothing: return
            case .file: try state.files.last?.sink?.take(bytes)
            case .field:
                state.fieldBytes += bytes.count
                guard state.fieldBytes <= Self.mostFieldBytes else {
                    throw UploadRefusal(413, "the form's fields beside its files are too large")
                }
                state.value.append(contentsOf: bytes)
            }
        case .partEnd:
            switch state.current {
            case .nothing: break
            case .file: state.files[state.files.count - 1].close()
            case .field:
                state.fields.append(JSON.Member(state.fieldName, .string(String(decoding: state.value, as: UTF8.self))))
            }
            state.current = .nothing
        case .end: return
        }
    }

    func finish() -> Response {
        let (isWhole, files, fields) = self.state.withLock { ($0.parser.isAtEnd, $0.files, $0.fields) }
        do throws(UploadRefusal) {
            guard isWhole else { throw UploadRefusal(400, "the form ends before its last boundary") }
            guard !files.isEmpty else { throw UploadRefusal(400, "the form has no file") }
            var landed: [LandedFile] = []
            for (index, file) in files.enumerated() {
                let content = try self.area.openPart(file.part)
                try self.area.sync(content)
                let one = try self.area.land(
                    file.part.part,
                    content,
                    file.place,
                    HeaderFields(),
                    of: file.part,
                    from: self.request.user
                )
                self.state.withLock { $0.files[index].hasLanded = true }
                var facts = UploadFacts(
                    self.request,
                    originalName: file.original,
                    type: file.type,
                    choice: self.area.records
                )
                facts.fields = fields
                self.area.writeRecord(facts, of: one) { try? self.area.digest(.sha256, of: content) }
                landed.append(one)
            }
            return self.response(landed)
        } catch {
            self.interrupted()
            return error.response
        }
    }

    /// Redirects a browser to the directory; responds to other clients with a JSON list of the files.
    private func response(_ landed: [LandedFile]) -> Response {
        let format = AcceptedFormat.choose(self.request.head.fields.joined("Accept"), preferring: .json)
        if format == .html {
            // The sender may not be permitted to list the directory, and the links are shown only once.
            if landed.contains(where: { $0.link != nil }) {
                return SentPage(landed, in: self.directory, self.request).response
            }
            var directory = self.directory
            directory.endsWithSlash = true
            return .message(303, "the files are here", ["Location": directory.url])
        }
        let list = JSON.object([
            JSON.Member(
                "files",
                .array(
                    landed.map { file in
                        var members = [
                            JSON.Member("name", .optional(file.path.name)),
                            JSON.Member("url", .string(self.request.basePath + file.path.url)),
                            JSON.Member("size", .integer(file.facts.length)),
                        ]
                        if let link = file.link {
                            let qr = AbsoluteLocation.url(ShareLink.qr(ofLink: link), self.request)
                            members.append(JSON.Member("link", .string(AbsoluteLocation.url(link, self.request))))
                            members.append(JSON.Member("qr", .string(qr)))
                        }
                        return .object(members)
                    }
                )
            )
        ])
        var fields: HeaderFields = ["Content-Type": "application/json", "X-Content-Type-Options": "nosniff"]
        if landed.count == 1, let file = landed.first {
            fields.append("Location", file.path.url)
            if let link = file.link { fields.append(ShareLink.field, link) }
        }
        return Response(201, fields, .bytes(list.bytes + [0x0A]))
    }

    func interrupted() {
        for file in self.state.withLock({ $0.files }) where !file.hasLanded {
            self.area.discard(file.part.part, size: file.sink?.offset ?? file.size)
        }
    }
}
