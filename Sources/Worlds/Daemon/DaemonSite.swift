// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

/// The servers of a daemon's world: honest, with strong validators.
///
/// Some resources change, some cannot be had.
final class DaemonSite: SimulatedServer {
    /// A resource, by the path of its URL.
    final class Resource {
        private let first: SimulatedContent
        private let next: SimulatedContent?
        /// The number of requests after which it changes.
        private let afterRequests: Int
        /// The status of all responses, if it cannot be had.
        let refusal: Int?
        /// The number of requests that fail for a reason that passes.
        var failures: Int
        /// Whether a request has failed.
        var hasFailed = false
        var requests = 0

        init(
            _ content: SimulatedContent,
            next: SimulatedContent?,
            afterRequests: Int,
            refusal: Int?,
            failures: Int
        ) {
            self.first = content
            self.next = next
            self.afterRequests = afterRequests
            self.refusal = refusal
            self.failures = failures
        }

        /// The number of the current version.
        var version: Int { self.next != nil && self.requests > self.afterRequests ? 1 : 0 }
        /// The bytes of the current version.
        var content: SimulatedContent { self.version == 0 ? self.first : self.next ?? self.first }

        /// The version with these bytes, if it existed.
        func version(of bytes: [UInt8]) -> Int? {
            if self.first.equals(bytes) { return 0 }
            return self.version == 1 && self.content.equals(bytes) ? 1 : nil
        }
    }

    /// When a request failed last for a reason that passes.
    private(set) var failedAt: Int64?
    private(set) var resources: [String: Resource] = [:]
    /// Called for each request.
    var onRequest: (_ path: String, ServerRequest) -> Void = { _, _ in }
    private let scheduler: Scheduler
    private let trace: Trace
    private let rate: Int64

    init(_ scheduler: Scheduler, _ trace: Trace, rate: Int64) {
        self.scheduler = scheduler
        self.trace = trace
        self.rate = rate
    }

    func put(_ path: String, _ resource: Resource) { self.resources[path] = resource }

    func reply(to request: ServerRequest) -> ServerReply {
        let path = request.url.path
        guard let resource = self.resources[path] else { return ServerReply(404) }
        resource.requests += 1
        self.trace.add(
            "server",
            "\(request.method) \(path)\(request.fields["Range"].map { " \($0)" } ?? "") of process \(request.process), "
                + "version \(resource.version)"
        )
        self.onRequest(path, request)
        if let refusal = resource.refusal { return ServerReply(refusal) }
        var cut: Int64?
        if resource.failures > 0 {
            resource.failures -= 1
            resource.hasFailed = true
            self.failedAt = self.scheduler.now
            switch Int.random(in: 0...2, using: &self.scheduler.random) {
            case 0: return ServerReply(503)
            case 1: return ServerReply(breaking: .reset)
            default: cut = Int64.random(in: 0..<max(1, resource.content.length), using: &self.scheduler.random)
            }
        }
        return self.content(resource, request, cut: cut)
    }

    private func content(_ resource: Resource, _ request: ServerRequest, cut: Int64?) -> ServerReply {
        let content = resource.content
        var fields: HeaderFields = ["ETag": "\"version-\(resource.version)\"", "Accept-Ranges": "bytes"]
        var (status, range) = (200, 0..<content.length)
        let condition = request.fields["If-Range"]
        if let asked = request.range(of: content.length), condition == nil || condition == fields["ETag"] {
            if asked.isEmpty {
                var reply = ServerReply(416)
                reply.head?.fields["Content-Range"] = "bytes */\(content.length)"
                return reply
            }
            (status, range) = (206, asked)
            fields["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(content.length)"
        }
        var reply = ServerReply(status)
        let length = range.upperBound - range.lowerBound
        fields["Content-Length"] = "\(length)"
        reply.head = ResponseHead(
            status: status,
            fields: fields,
            framing: request.method == "HEAD" ? .none : .length(length)
        )
        guard request.method != "HEAD" else { return reply }
        reply.content = content
        reply.range = range
        reply.rate = self.rate
        if let cut, cut < length {
            reply.cut = cut
            reply.failure = .reset
            reply.keepsConnection = false
        }
        return reply
    }

    func delivered(_ count: Int, to request: ServerRequest) {}
}
