// SPDX-License-Identifier: Apache-2.0
import Synchronization
import TransferCore

/// Handles one request of an ``UploadServer``.
final class UploadHandling {
    private enum Kind {
        case raw
        case tusCreation
        case append(interop: Int?)
        case other
    }

    private let server: UploadServer
    private let request: UploadServer.Request
    private let place: Int
    private let behaviour: UploadServer.Behaviour
    private let interop: Int?
    private var kind = Kind.other
    /// The target of the upload that receives the content.
    private var target = ""
    private var start: Int64 = 0
    /// The content of a part that is appended only if its digest matches.
    private var unchecked: [UInt8]?
    private var failure: Int?
    /// The number of bytes of content after which the connection is closed.
    private(set) var cut: Int64?
    private(set) var received: Int64 = 0
    /// The response that is sent before any content is read.
    private(set) var atOnce: UploadServer.Reply?

    init(_ server: UploadServer, _ request: UploadServer.Request) {
        self.server = server
        self.request = request
        self.place = server.began(request)
        self.behaviour = server.state.withLock { $0.behaviour }
        self.interop = request["Upload-Draft-Interop-Version"].flatMap { Int($0) }
        self.decide()
        server.decided()
    }

    var isHead: Bool { self.request.method == "HEAD" }
    var farewell: UploadServer.Reply? { self.behaviour.farewell }
    var rate: Int? { self.behaviour.rate }
    var saysContinue: Bool { self.behaviour.saysContinue }

    private var speaksDraft: Bool { self.interop.map { self.behaviour.drafts.contains($0) } ?? false }

    private func decide() {
        if let reply = self.behaviour.refusals[self.request.method] {
            self.atOnce = reply
            return
        }
        if let redirect = self.behaviour.redirects[self.request.target] {
            self.atOnce = UploadServer.Reply(redirect.status, [("Location", redirect.location)])
            return
        }
        let hasContent =
            self.request["Transfer-Encoding"] != nil || (self.request["Content-Length"].flatMap { Int64($0) } ?? 0) > 0
        if hasContent {
            self.server.state.withLock { state in
                if !state.behaviour.cuts.isEmpty { self.cut = state.behaviour.cuts.removeFirst() }
                if !state.behaviour.failures.isEmpty { self.failure = state.behaviour.failures.removeFirst() }
            }
        }
        switch self.request.method {
        case "OPTIONS": self.options()
        case "HEAD", "PATCH", "DELETE": self.existing()
        case "PUT", "POST": self.created()
        case "GET": self.atOnce = UploadServer.Reply(200, body: "got\n")
        default: self.atOnce = UploadServer.Reply(405)
        }
    }

    private func options() {
        guard self.behaviour.speaksTus else {
            self.atOnce = UploadServer.Reply(405)
            return
        }
        var fields = [
            ("Tus-Resumable", "1.0.0"), ("Tus-Version", "1.0.0,0.2.2"),
            ("Tus-Extension", "creation,termination,checksum,expiration"),
        ]
        if let limit = self.behaviour.tusLimit { fields.append(("Tus-Max-Size", "\(limit)")) }
        if !self.behaviour.checksums.isEmpty {
            fields.append(
                ("Tus-Checksum-Algorithm", self.behaviour.checksums.map(\.rawValue).joined(separator: ","))
            )
        }
        self.atOnce = UploadServer.Reply(204, fields)
    }

    private func existing() {
        self.target = self.request.target
        let upload: UploadServer.Upload? = self.server.state.withLock { state in
            guard var upload = state.uploads[self.target] else { return nil }
            upload.requests += 1
            if let most = state.behaviour.forgetsAfter, upload.requests > most {
                state.uploads[self.target] = nil
                state.behaviour.forgetsAfter = nil
                return nil
            }
            upload.appender = self.place
            state.uploads[self.target] = upload
            return upload
        }
        guard let upload else {
            self.atOnce = UploadServer.Reply(404)
            return
        }
        let offset = Int64(upload.bytes.count)
        switch self.request.method {
        case "HEAD":
            var fields = self.protocolFields + [("Upload-Offset", "\(offset)"), ("Cache-Control", "no-store")]
            if self.interop == nil, let length = upload.length { fields.append(("Upload-Length", "\(length)")) }
            if self.interop != nil { fields.append(self.completeness(upload.isWhole)) }
            self.atOnce = UploadServer.Reply(self.interop == nil ? 200 : 204, fields)
        case "DELETE":
            self.server.state.withLock { $0.uploads[self.target] = nil }
            self.atOnce = UploadServer.Reply(204, self.protocolFields)
        default:
            guard self.request["Upload-Offset"].flatMap({ Int64($0) }) == offset else {
                self.atOnce = UploadServer.Reply(409, self.protocolFields + [("Upload-Offset", "\(offset)")])
                return
            }
            let wanted = self.interop == nil ? "application/offset+octet-stream" : "application/partial-upload"
            if self.interop ?? 6 >= 6, self.request["Content-Type"] != wanted {
                self.atOnce = UploadServer.Reply(415)
                return
            }
            self.start = offset
            if self.request["Upload-Checksum"] != nil { self.unchecked = [] }
            self.kind = .append(interop: self.interop)
        }
    }

    private func created() {
        if self.behaviour.speaksTus, self.request["Tus-Resumable"] != nil {
            self.kind = .tusCreation
            return
        }
        self.kind = .raw
        self.target = self.request.target
        if self.speaksDraft {
            self.target = self.server.state.withLock { state in
                state.nextUpload += 1
                return "/resumption/\(state.nextUpload)"
            }
        }
        let length = self.request["Upload-Length"] ?? self.request["Content-Length"]
        self.server.state.withLock { state in
            state.uploads[self.target] = UploadServer.Upload(
                length: length.flatMap { Int64($0) },
                appender: self.place
            )
        }
    }

    /// The interim response with the upload's resource, sent before the content is read.
    func interim() -> String? {
        guard case .raw = self.kind, self.speaksDraft, let interop = self.interop else { return nil }
        return "HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Draft-Interop-Version: \(interop)\r\n"
            + "Location: \(self.target)\r\n\r\n"
    }

    /// Takes content; returns false if a later request for the upload has ended this one.
    func took(_ bytes: [UInt8]) -> Bool {
        let (isTaken, woken): (Bool, [CheckedContinuation<Void, Never>]) = self.server.state.withLock { state in
            if let upload = state.uploads[self.target], upload.appender != self.place { return (false, []) }
            state.requests[self.place].received += Int64(bytes.count)
            if self.unchecked == nil, self.failure == nil {
                state.uploads[self.target]?.bytes.append(contentsOf: bytes)
            }
            return (true, state.wokenByBytes())
        }
        for waiter in woken { waiter.resume() }
        guard isTaken else { return false }
        self.received += Int64(bytes.count)
        if self.unchecked != nil { self.unchecked?.append(contentsOf: bytes) }
        return true
    }

    /// Returns the response to the complete request.
    func ended() -> UploadServer.Reply {
        if let failure = self.failure { return UploadServer.Reply(failure) }
        switch self.kind {
        case .other: return UploadServer.Reply(400)
        case .tusCreation: return self.tusCreated()
        case .raw:
            self.server.state.withLock { $0.uploads[self.target]?.isWhole = true }
            return UploadServer.Reply(self.behaviour.status, self.protocolFields, body: self.behaviour.answer)
        case .append(let interop): return self.appended(interop)
        }
    }

    private func tusCreated() -> UploadServer.Reply {
        guard let length = self.request["Upload-Length"].flatMap({ Int64($0) }) else { return UploadServer.Reply(400) }
        if let limit = self.behaviour.tusLimit, length > limit { return UploadServer.Reply(413) }
        let target = self.server.state.withLock { state in
            state.nextUpload += 1
            let target = "/files/\(state.nextUpload)"
            state.uploads[target] = UploadServer.Upload(
                length: length,
                isWhole: length == 0,
                metadata: self.request["Upload-Metadata"]
            )
            return target
        }
        var fields = [("Tus-Resumable", "1.0.0"), ("Location", target)]
        if let expires = self.behaviour.expires { fields.append(("Upload-Expires", expires)) }
        return UploadServer.Reply(201, fields)
    }

    private func appended(_ interop: Int?) -> UploadServer.Reply {
        if let unchecked = self.unchecked {
            let parts = (self.request["Upload-Checksum"] ?? "").split(separator: " ")
            guard parts.count == 2, String(parts[1]) == Base64.encode(PlainDigests.sha256(unchecked)) else {
                return UploadServer.Reply(460, self.protocolFields)
            }
            self.server.state.withLock { $0.uploads[self.target]?.bytes.append(contentsOf: unchecked) }
        }
        let (offset, isWhole): (Int, Bool) = self.server.state.withLock { state in
            guard var upload = state.uploads[self.target] else { return (0, false) }
            upload.isWhole = upload.length.map { $0 == Int64(upload.bytes.count) } ?? true
            state.uploads[self.target] = upload
            return (upload.bytes.count, upload.isWhole)
        }
        let fields = self.protocolFields + [("Upload-Offset", "\(offset)")]
        guard interop != nil else { return UploadServer.Reply(204, fields) }
        return UploadServer.Reply(
            self.behaviour.status,
            fields + [self.completeness(isWhole)],
            body: self.behaviour.answer
        )
    }

    private var protocolFields: [(String, String)] {
        if let interop = self.interop {
            return self.speaksDraft ? [("Upload-Draft-Interop-Version", "\(interop)")] : []
        }
        return self.behaviour.speaksTus ? [("Tus-Resumable", "1.0.0")] : []
    }

    private func completeness(_ isWhole: Bool) -> (String, String) {
        self.interop ?? 6 >= 5
            ? ("Upload-Complete", isWhole ? "?1" : "?0") : ("Upload-Incomplete", isWhole ? "?0" : "?1")
    }
}
