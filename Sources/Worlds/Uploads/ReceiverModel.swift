// SPDX-License-Identifier: Apache-2.0
import Crypto
import TransferCore

/// A server that receives uploads, as a value: single requests, tus 1.0 and the IETF draft.
///
/// Pure value: faults are added by ``UploadSite``. Uploads that were interrupted are kept, as resumable protocols require.
struct ReceiverModel {
    /// An upload, complete or in progress.
    struct Resource {
        var bytes: [UInt8] = []
        var length: Int64?
        var isComplete = false
        /// The number of the request that created it.
        var creator: Int
        /// The number of the request that may append to it: the last one for it.
        var appender: Int
        /// Whether it is the result of a single request.
        var isSingle = false
    }

    /// A response without a body.
    struct Response {
        var status: Int
        var fields: HeaderFields = [:]
    }

    /// The handling of a request.
    enum Decision {
        case respond(Response)
        /// The content is received; the fields are those of an interim response that names the upload's resource.
        case receive(interim: HeaderFields?)
    }

    /// The destination of a request's content.
    private enum Purpose {
        case single
        case creation(version: Int)
        case append(version: Int?)
    }

    private struct Receiving {
        var path: String
        var purpose: Purpose
        /// The content of a request that counts only as a whole.
        var held: [UInt8]?
        /// The digest that it must have.
        var checksum: [UInt8]?
    }

    /// Whether it supports tus.
    var speaksTus = false
    /// Whether it supports digests of tus parts.
    var checks = false
    /// The interop versions of the draft that it supports.
    var drafts: Set<Int> = []
    /// Whether it names the resource of a draft's upload before the content has arrived.
    var sendsInterim = true
    /// The maximum length of an upload.
    var limit: Int64?
    /// Whether a PUT to a name that exists is refused.
    var refusesOverwriting = false
    /// Whether it sends digests of existing resources.
    var sendsDigests = false
    /// The number of seconds after which tus uploads expire, by what it says.
    var lifetime: Int64?

    /// The uploads, by path.
    private(set) var resources: [String: Resource] = [:]
    /// The bytes of each upload that became complete, with the request that completed it.
    private(set) var completions: [(path: String, request: Int, bytes: [UInt8])] = []
    private var receiving: [Int: Receiving] = [:]
    private var next = 0

    // MARK: Requests

    /// Handles the head of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - length: The declared length of its content; `nil` if it is unknown.
    ///   - hasContent: Whether content follows.
    ///   - wallNow: Seconds since 1970.
    /// - Returns: What is done.
    mutating func begin(_ request: ServerRequest, length: Int64?, hasContent: Bool, wallNow: Int64) -> Decision {
        let version = request.fields["Upload-Draft-Interop-Version"].flatMap { Int($0) }
        switch request.method {
        case "OPTIONS": return .respond(self.options())
        case "PUT", "POST":
            if request.fields["Tus-Resumable"] != nil, self.speaksTus {
                return .respond(self.createTus(request, wallNow))
            }
            return self.create(request, version, length: length)
        case "HEAD": return .respond(self.head(request, version))
        case "PATCH": return self.append(request, version, hasContent: hasContent)
        case "DELETE": return .respond(self.delete(request, version))
        case "GET": return .respond(Response(status: 200, fields: ["Content-Length": "0"]))
        default: return .respond(Response(status: 405))
        }
    }

    private func options() -> Response {
        guard self.speaksTus else { return Response(status: 405) }
        var fields: HeaderFields = [
            "Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0",
            "Tus-Extension": "creation,termination,checksum,expiration",
        ]
        if let limit { fields.append("Tus-Max-Size", "\(limit)") }
        if self.checks { fields.append("Tus-Checksum-Algorithm", "sha1,sha256") }
        return Response(status: 204, fields: fields)
    }

    private mutating func createTus(_ request: ServerRequest, _ wallNow: Int64) -> Response {
        guard let length = request.fields["Upload-Length"].flatMap({ Int64($0) }) else { return Response(status: 400) }
        if let limit, length > limit { return Response(status: 413) }
        let path = self.newPath("files")
        self.resources[path] = Resource(length: length, creator: request.number, appender: request.number)
        if length == 0 { self.finish(path, request.number) }
        var fields: HeaderFields = ["Tus-Resumable": "1.0.0", "Location": path]
        if let lifetime { fields.append("Upload-Expires", HTTPDate.format(wallNow + lifetime)) }
        return Response(status: 201, fields: fields)
    }

    private mutating func create(_ request: ServerRequest, _ version: Int?, length: Int64?) -> Decision {
        if let limit, let length, length > limit { return .respond(Response(status: 413)) }
        if let version, self.drafts.contains(version) {
            let path = self.newPath("resumption")
            let whole = request.fields["Upload-Length"].flatMap { Int64($0) } ?? length
            self.resources[path] = Resource(length: whole, creator: request.number, appender: request.number)
            self.receiving[request.number] = Receiving(path: path, purpose: .creation(version: version))
            guard self.sendsInterim else { return .receive(interim: nil) }
            return .receive(interim: ["Upload-Draft-Interop-Version": "\(version)", "Location": path])
        }
        if self.refusesOverwriting, request.method == "PUT", self.resources[request.url.path] != nil {
            return .respond(Response(status: 409))
        }
        let path = request.method == "PUT" ? request.url.path : self.newPath("stored")
        self.receiving[request.number] = Receiving(path: path, purpose: .single, held: [])
        return .receive(interim: nil)
    }

    private mutating func newPath(_ folder: String) -> String {
        self.next += 1
        return "/\(folder)/\(self.next)"
    }

    private mutating func head(_ request: ServerRequest, _ version: Int?) -> Response {
        let path = request.url.path
        guard let resource = self.resources[path] else { return Response(status: 404) }
        if resource.isSingle {
            var fields: HeaderFields = ["Content-Length": "\(resource.bytes.count)"]
            if self.sendsDigests {
                fields.append("Repr-Digest", "sha-256=:\(Base64.encode(Array(SHA256.hash(data: resource.bytes)))):")
            }
            return Response(status: 200, fields: fields)
        }
        // Whoever asks for the offset takes the upload over.
        self.resources[path]?.appender = request.number
        var fields = self.fields(version)
        fields.append("Upload-Offset", "\(resource.bytes.count)")
        if version == nil, let length = resource.length { fields.append("Upload-Length", "\(length)") }
        if let version { Self.addCompleteness(resource.isComplete, version, to: &fields) }
        return Response(status: version == nil ? 200 : 204, fields: fields)
    }

    private mutating func delete(_ request: ServerRequest, _ version: Int?) -> Response {
        guard let resource = self.resources[request.url.path], !resource.isSingle else { return Response(status: 404) }
        self.resources[request.url.path] = nil
        return Response(status: 204, fields: self.fields(version))
    }

    private mutating func append(_ request: ServerRequest, _ version: Int?, hasContent: Bool) -> Decision {
        let path = request.url.path
        guard let resource = self.resources[path] else { return .respond(Response(status: 404)) }
        // As tus servers do with a complete upload.
        if resource.isComplete { return .respond(Response(status: 403)) }
        let offset = "\(resource.bytes.count)"
        guard request.fields["Upload-Offset"] == offset else {
            var fields = self.fields(version)
            if version != nil { fields.append("Upload-Offset", offset) }
            return .respond(Response(status: 409, fields: fields))
        }
        let wanted = version == nil ? "application/offset+octet-stream" : "application/partial-upload"
        if version ?? 6 >= 6, request.fields["Content-Type"] != wanted { return .respond(Response(status: 415)) }
        self.resources[path]?.appender = request.number
        var receiving = Receiving(path: path, purpose: .append(version: version))
        if let text = request.fields["Upload-Checksum"]?.split(separator: " ").last {
            receiving.checksum = Base64.decode(text.utf8) ?? []
            receiving.held = []
        }
        self.receiving[request.number] = receiving
        return .receive(interim: nil)
    }

    // MARK: Content

    /// Takes content.
    ///
    /// - Returns: False if a later request for the upload has taken it over.
    mutating func take(_ bytes: ArraySlice<UInt8>, _ number: Int) -> Bool {
        guard var receiving = self.receiving[number] else { return false }
        if receiving.held != nil {
            receiving.held?.append(contentsOf: bytes)
            self.receiving[number] = receiving
            return true
        }
        guard self.resources[receiving.path]?.appender == number else { return false }
        self.resources[receiving.path]?.bytes.append(contentsOf: bytes)
        // A tus upload is complete with its last byte, not with the end of a request.
        if case .append(nil) = receiving.purpose, let resource = self.resources[receiving.path],
            resource.length == Int64(resource.bytes.count)
        {
            self.finish(receiving.path, number)
        }
        return true
    }

    /// All the content of a request has arrived.
    mutating func complete(_ number: Int) -> Response {
        guard let receiving = self.receiving.removeValue(forKey: number) else { return Response(status: 409) }
        switch receiving.purpose {
        case .single:
            self.resources[receiving.path] = Resource(
                bytes: receiving.held ?? [],
                creator: number,
                appender: number,
                isSingle: true
            )
            self.finish(receiving.path, number)
            return Response(status: 201)
        case .creation(let version): return self.appended(receiving, number, version)
        case .append(let version):
            if let held = receiving.held {
                guard receiving.checksum == Array(SHA256.hash(data: held)) else {
                    return Response(status: 460, fields: self.fields(version))
                }
                guard self.resources[receiving.path]?.appender == number else { return Response(status: 409) }
                self.resources[receiving.path]?.bytes.append(contentsOf: held)
            }
            return self.appended(receiving, number, version)
        }
    }

    private mutating func appended(_ receiving: Receiving, _ number: Int, _ version: Int?) -> Response {
        guard let resource = self.resources[receiving.path] else { return Response(status: 404) }
        guard resource.appender == number else { return Response(status: 409) }
        let isComplete = resource.length.map { $0 == Int64(resource.bytes.count) } ?? true
        if isComplete, !resource.isComplete { self.finish(receiving.path, number) }
        var fields = self.fields(version)
        fields.append("Upload-Offset", "\(resource.bytes.count)")
        guard let version else { return Response(status: 204, fields: fields) }
        Self.addCompleteness(isComplete, version, to: &fields)
        return Response(status: 201, fields: fields)
    }

    /// The connection of a request ended before its content.
    mutating func interrupt(_ number: Int) { self.receiving[number] = nil }

    private mutating func finish(_ path: String, _ number: Int) {
        self.resources[path]?.isComplete = true
        self.completions.append((path, number, self.resources[path]?.bytes ?? []))
    }

    // MARK: Faults

    /// Forgets an upload.
    mutating func forget(_ path: String) { self.resources[path] = nil }

    /// Drops what a request has appended, unless a later one has taken the upload over.
    mutating func drop(_ number: Int, count: Int) {
        guard let receiving = self.receiving.removeValue(forKey: number), receiving.held == nil,
            self.resources[receiving.path]?.appender == number
        else { return }
        self.lose(count, of: receiving.path)
    }

    /// Forgets the last bytes of a request that has not ended, as a server does that takes only a part.
    mutating func shorten(_ number: Int, by count: Int) {
        guard let receiving = self.receiving[number], receiving.held == nil,
            self.resources[receiving.path]?.appender == number
        else { return }
        self.lose(count, of: receiving.path)
    }

    /// Loses the last bytes of an incomplete upload.
    mutating func lose(_ count: Int, of path: String) {
        guard let resource = self.resources[path], !resource.isComplete else { return }
        self.resources[path]?.bytes.removeLast(min(count, resource.bytes.count))
    }

    // MARK: Fields

    private func fields(_ version: Int?) -> HeaderFields {
        if let version { return ["Upload-Draft-Interop-Version": "\(version)"] }
        return ["Tus-Resumable": "1.0.0"]
    }

    private static func addCompleteness(_ isComplete: Bool, _ version: Int, to fields: inout HeaderFields) {
        if version >= 5 {
            fields.append("Upload-Complete", isComplete ? "?1" : "?0")
        } else {
            fields.append("Upload-Incomplete", isComplete ? "?0" : "?1")
        }
    }
}
