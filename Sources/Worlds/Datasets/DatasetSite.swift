// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

/// The server of a dataset's items.
final class DatasetSite: SimulatedServer {
    /// The constant response to requests for an item.
    enum Nature: String {
        case there, missing, forbidden, failing, moved, login
    }

    /// The fault of one response.
    enum Fault: String, CaseIterable {
        case breaksFirst = "breaks the connection before the head"
        case cuts = "breaks the connection in the body"
        case silent = "sends nothing"
        case stalls = "stops in the body"
        case serverError = "sends 5xx"
        case serverErrorWithDelay = "sends 503 with Retry-After"
        case tooMany = "sends 429"
        case drips = "sends slowly"
        case chunked = "sends chunks"
        case malformed = "sends what is not HTTP"
    }

    struct Item {
        var number: Int
        var nature: Nature
        var content: SimulatedContent
        var type: String

        var path: String { "/items/\(self.number)" }
        var url: String { "http://\(DatasetSite.hosts[self.number % DatasetSite.hosts.count])\(self.path)" }
    }

    static let hosts = ["data.example", "more.example"]

    let items: [Item]
    /// The statuses that were sent for each item.
    private(set) var statuses: [Int: Set<Int>] = [:]
    private(set) var used: Set<Fault> = []
    private(set) var requests = 0

    private let faults: [(fault: Fault, share: Double)]
    private let decisions: UInt64
    private let rate: Int64
    private let trace: Trace

    init(_ recipe: inout Recipe, _ trace: Trace) {
        self.trace = trace
        self.decisions = recipe.draw(0...UInt64.max)
        self.rate = recipe.pick([500_000, 4_000_000, 50_000_000])
        let largest = recipe.draw(0...39) == 0 ? 1_300_000 : recipe.pick([2000, 20_000, 60_000])
        var items: [Item] = []
        for number in 0..<recipe.draw(4...12) {
            let nature: Nature = recipe.pick([
                .there, .there, .there, .there, .there, .there, .missing, .forbidden, .failing, .moved, .login,
            ])
            let size = recipe.draw(0...9) == 0 ? 0 : recipe.draw(1...largest)
            let content = SimulatedContent(SimulatedContent.random(size, using: &recipe.random))
            let type = recipe.pick(["image/jpeg", "application/octet-stream", "text/plain; charset=utf-8"])
            items.append(Item(number: number, nature: nature, content: content, type: type))
        }
        self.items = items
        var faults: [(fault: Fault, share: Double)] = []
        for rarity in [2, 4] {
            let fault = recipe.pick(Fault.allCases)
            let share = recipe.pick([0.05, 0.1, 0.3])
            if recipe.has(oneIn: rarity, "the server \(fault.rawValue), in \(share) of requests") {
                faults.append((fault, share))
            }
        }
        self.faults = faults
    }

    func reply(to request: ServerRequest) -> ServerReply {
        self.requests += 1
        var generator = SeededGenerator(
            seed: self.decisions ^ (UInt64(request.number) &* 0x9E37_79B9_7F4A_7C15)
        )
        var reply = self.decide(request, &generator)
        if reply.rate == 4_000_000 { reply.rate = self.rate }
        if let status = reply.head?.status, let item = self.item(request) {
            self.statuses[item.number, default: []].insert(status)
        }
        self.trace.add(
            "server",
            "#\(request.number) \(request.method) \(request.url.path)\(request.fields["Range"].map { " \($0)" } ?? ""): "
                + (reply.head.map { "\($0.status)" } ?? "nothing")
        )
        return reply
    }

    func delivered(_ count: Int, to request: ServerRequest) {}

    private func item(_ request: ServerRequest) -> Item? {
        guard let name = request.url.path.split(separator: "/").last, let number = Int(name),
            self.items.indices.contains(number)
        else { return nil }
        return self.items[number]
    }

    private func decide(_ request: ServerRequest, _ generator: inout SeededGenerator) -> ServerReply {
        func status(_ status: Int, _ delay: String? = nil) -> ServerReply {
            var fields: HeaderFields = ["Content-Length": "0"]
            if let delay { fields.append("Retry-After", delay) }
            return ServerReply(status, fields)
        }
        guard let item = self.item(request) else { return status(404) }
        let fault = self.faults.first { Double.random(in: 0..<1, using: &generator) < $0.share }?.fault
        if let fault { self.used.insert(fault) }
        switch fault {
        case .breaksFirst: return ServerReply(breaking: .reset)
        case .malformed: return ServerReply(breaking: .malformed)
        case .silent:
            var reply = ServerReply(breaking: .reset)
            (reply.cut, reply.failure) = (nil, nil)
            return reply
        case .serverError: return status([500, 502, 503, 504].randomElement(using: &generator) ?? 500)
        case .serverErrorWithDelay: return status(503, ["0", "1", "30"].randomElement(using: &generator))
        case .tooMany: return status(429)
        default: break
        }
        switch item.nature {
        case .missing: return status(404)
        case .forbidden: return status(403)
        case .failing: return status(500)
        case .login: return status(401)
        case .moved where !request.url.path.hasPrefix("/moved/"):
            var reply = status(302)
            reply.head?.fields.append("Location", "/moved/\(item.number)")
            return reply
        case .there, .moved: return self.content(item, request, fault, &generator)
        }
    }

    private func content(
        _ item: Item,
        _ request: ServerRequest,
        _ fault: Fault?,
        _ generator: inout SeededGenerator
    ) -> ServerReply {
        let length = item.content.length
        var range = 0..<length
        var fields: HeaderFields = [
            "ETag": "\"item-\(item.number)\"", "Content-Type": item.type, "Accept-Ranges": "bytes",
        ]
        var status = 200
        if let wanted = request.range(of: length) {
            if wanted.isEmpty {
                return ServerReply(416, ["Content-Range": "bytes */\(length)", "Content-Length": "0"])
            }
            (status, range) = (206, wanted)
            fields.append("Content-Range", "bytes \(wanted.lowerBound)-\(wanted.upperBound - 1)/\(length)")
        }
        let count = range.upperBound - range.lowerBound
        if fault != .chunked { fields.append("Content-Length", "\(count)") }
        var reply = ServerReply(status, fields)
        reply.head?.framing = fault == .chunked ? .chunked : .length(count)
        reply.content = item.content
        reply.range = range
        let place = Int64.random(in: 0..<max(1, count), using: &generator)
        switch fault {
        case .cuts: (reply.cut, reply.failure) = (place, .reset)
        case .stalls: reply.stall = place
        case .drips: reply.rate = max(1000, count / 20)
        default: break
        }
        return reply
    }
}
