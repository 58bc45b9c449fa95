// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// Selects the handler for requests that upload.
struct UploadRoutes {
    let core: ReceiverCore

    /// Returns the handler for a PUT or POST.
    ///
    /// PUT, and POST to a file's path, store the file under that name. POST to a directory (the path ends in a slash,
    /// or is a directory) chooses a free name. A valid name that a tus upload proposes is used exactly, as with PUT, so
    /// that the result does not depend on the protocol.
    func handler(_ path: TreePath, _ request: inout Request) -> any RequestHandler {
        guard let area = self.core.area else { return ImmediateHandler(.message(403, "nothing is taken here")) }
        if let refusal = self.refusal(&request) { return refusal }
        let fields = request.head.fields
        let isPost = request.head.method == "POST"
        let type = fields["Content-Type"]
        do throws(UploadRefusal) {
            try Self.check(fields)
            if let refusal = Self.lengthRefusal(request.head) { return ImmediateHandler(refusal) }
            if isPost, let boundary = try FormBoundary.of(type) {
                return UploadHandler(FormUpload(area, try self.directory(path), boundary, request))
            }
            let isTus = isPost && TusProtocol.isSpoken(fields)
            let original =
                isTus
                ? try self.tusName(fields) : fields["Content-Disposition"].flatMap { ContentDisposition($0).fileName }
            var place =
                isPost && self.isDirectory(path)
                ? try LandingPlace(in: path, proposed: original, type: type, now: Timestamp.now)
                : try LandingPlace(exactly: path)
            if isTus, place.name == original { place.mayRename = false }
            let facts = UploadFacts(
                request,
                originalName: original ?? (place.mayRename ? nil : place.name),
                type: type,
                choice: area.records
            )
            let cut = CutSwitch()
            if isTus {
                let session = AppendSession(area) { cut.cut() }
                return UploadHandler(TusUpload(.create(place, facts), request, session), cut: cut)
            }
            if let version = DraftVersion(fields: fields), version.isComplete(fields) != nil {
                let session = AppendSession(area) { cut.cut() }
                return UploadHandler(DraftUpload(.create(place, facts), version, request, session), cut: cut)
            }
            return UploadHandler(RawUpload(area, place, request, facts))
        } catch {
            return ImmediateHandler((TusProtocol.isSpoken(fields) ? TusProtocol.told(error) : error).response)
        }
    }

    /// Refuses content codings and unsupported resumable uploads, which would be stored wrongly.
    private static func check(_ fields: HeaderFields) throws(UploadRefusal) {
        if let coding = fields["Content-Encoding"], coding.lowercased() != "identity" {
            // The file would be served without its coding (RFC 9110 §15.5.16).
            throw UploadRefusal(415, "encoded content is not taken; send it as it is", ["Accept-Encoding": "identity"])
        }
        if fields.contains("Upload-Concat") {
            // The parts would be stored as complete files.
            throw UploadRefusal(400, "tus's concatenation is not supported; send the file as one upload")
        }
        let complete = fields["Upload-Complete"].map { StructuredItem.boolean($0) }
        let incomplete = fields["Upload-Incomplete"].map { StructuredItem.boolean($0) }
        if complete == .some(nil) || incomplete == .some(nil) {
            throw UploadRefusal(400, "Upload-Complete or Upload-Incomplete is neither ?1 nor ?0")
        }
        // A part must not be stored as a complete file.
        if complete == false || incomplete == true, DraftVersion(fields: fields)?.isComplete(fields) == nil {
            throw UploadRefusal(
                400,
                "this version of resumable uploads is not spoken here; use 3 (Upload-Incomplete), 5 or 6",
                [DraftVersion.field: "\(DraftVersion.latest.rawValue)"]
            )
        }
    }

    /// Refuses a complete file without a declared length: the content that follows would not be part of the request, and
    /// an empty file would be stored.
    ///
    /// - Source: RFC 9110 §15.5.12.
    private static func lengthRefusal(_ head: RequestHead) -> Response? {
        let fields = head.fields
        let isIncomplete = TusProtocol.isSpoken(fields) || DraftVersion(fields: fields)?.isComplete(fields) == false
        guard head.framing == .none, !fields.contains("Content-Length"), !isIncomplete else { return nil }
        var response = Response.message(411, "declare the length: Content-Length, or Transfer-Encoding: chunked")
        response.closes = true
        return response
    }

    /// Returns the handler for a HEAD, GET, PATCH or DELETE of an upload's resource.
    func resource(_ path: TreePath, _ request: inout Request) -> any RequestHandler {
        guard let area = self.core.area, path.names.count == 2, let name = UploadName(path.names[1]) else {
            return ImmediateHandler(.failure(.notFound))
        }
        if let refusal = self.refusal(&request) { return refusal }
        let fields = request.head.fields
        let resource = ResumableUploadResource(area: area, name: name, fields: fields)
        switch request.head.method {
        case "HEAD", "GET": return BlockingHandler { resource.head() }
        case "DELETE": return BlockingHandler { resource.delete() }
        case "PATCH":
            let cut = CutSwitch()
            let session = AppendSession(area) { cut.cut() }
            if TusProtocol.isSpoken(fields) {
                return UploadHandler(TusUpload(.append(name), request, session), cut: cut)
            }
            guard let version = DraftVersion(fields: fields) else {
                return ImmediateHandler(
                    .message(
                        400,
                        "say which protocol this is: Tus-Resumable, or \(DraftVersion.field) 3, 5 or 6",
                        [DraftVersion.field: "\(DraftVersion.latest.rawValue)"]
                    )
                )
            }
            return UploadHandler(DraftUpload(.append(name), version, request, session), cut: cut)
        default:
            return ImmediateHandler(
                .message(405, "an upload knows HEAD, PATCH and DELETE", ["Allow": "HEAD, PATCH, DELETE"])
            )
        }
    }

    private func refusal(_ request: inout Request) -> (any RequestHandler)? {
        self.core.access.refusal(of: &request, needs: .write).map { ImmediateHandler($0) }
    }

    private func directory(_ path: TreePath) throws(UploadRefusal) -> TreePath {
        guard self.isDirectory(path) else {
            throw UploadRefusal(409, "a form is sent to a directory; end it with a slash")
        }
        return path
    }

    private func isDirectory(_ path: TreePath) -> Bool {
        if path.endsWithSlash { return true }
        guard let tree = self.core.tree, case .directory? = try? tree.open(path) else { return false }
        return true
    }

    private func tusName(_ fields: HeaderFields) throws(UploadRefusal) -> String? {
        let metadata = try TusProtocol.metadata(fields["Upload-Metadata"])
        return (metadata.first { $0.key == "filename" } ?? metadata.first { $0.key == "name" })?.value
    }
}
