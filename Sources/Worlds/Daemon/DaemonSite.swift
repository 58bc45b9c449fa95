// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

/// The servers of a daemon's world: honest, with resources that do not change; some of them cannot be had.
final class DaemonSite: SimulatedServer {
    /// A resource, by the path of its URL.
    final class Resource {
        let content: SimulatedContent
        /// The status of all responses, if it cannot be had.
        let refusal: Int?
        /// The number of requests that fail for a reason that passes.
        var failures: Int
        /// Whether a request has failed.
        var hasFailed = false
        /// The number of requests.
        var requests = 0

        init(_ content: SimulatedContent, refusal: Int?, failures: Int) {
            self.content = content
            self.refusal = refusal
            self.failures = failures
        }
    }

    private(set) var resources: [String: Resource] = [:]
    /// Called for each request.
    var onRequest: (_ path: String) -> Void = { _ in }
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
            "\(request.method) \(path)\(request.fields["Range"].map { " \($0)" } ?? "") of process \(request.process)"
        )
        self.onRequest(path)
        if let refusal = resource.refusal { return ServerReply(refusal) }
        var cut: Int64?
        if resource.failures > 0 {
            resource.failures -= 1
            resource.hasFailed = true
            switch Int.random(in: 0...2, using: &self.scheduler.random) {
            case 0: return ServerReply(503)
            case 1: return ServerReply(breaking: .reset)
            default: cut = Int64.random(in: 0..<max(1, resource.content.length), using: &self.scheduler.random)
            }
        }
        return self.content(resource.content, request, cut: cut)
    }

    private func content(_ content: SimulatedContent, _ request: ServerRequest, cut: Int64?) -> ServerReply {
        var fields: HeaderFields = [
            "ETag": "\"\(content.length)-\(content.bytes.first ?? 0)\"", "Accept-Ranges": "bytes",
        ]
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
