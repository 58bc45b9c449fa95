// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

/// The server of a dataset's items.
final class DatasetSite: SimulatedServer {
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

    /// The requests of one process, and the bytes that it has received.
    struct Traffic {
        var requests = 0
        var bytes: Int64 = 0
        /// The number of responses that lead to another attempt.
        var faults = 0
        /// The bytes of bodies that were cut.
        var lost: Int64 = 0
    }

    let items: [DatasetItem]
    var run = 1
    /// The statuses that were sent for each item.
    private(set) var statuses: [Int: Set<Int>] = [:]
    private(set) var used: Set<Fault> = []
    private(set) var requests = 0
    /// The number of responses with a part of an item.
    private(set) var ranges = 0
    /// The requests and received bytes of each process, by its number.
    private(set) var traffic: [Int: Traffic] = [:]
    /// The requests whose bodies are not sent to their end.
    private var incomplete: Set<Int> = []

    /// The number of responses with content, by item.
    private var served: [Int: Int] = [:]

    private let faults: [(fault: Fault, share: Double)]
    private let decisions: UInt64
    private let rate: Int64
    private let scheduler: Scheduler
    private let trace: Trace

    init(_ recipe: inout Recipe, _ scheduler: Scheduler, _ trace: Trace) {
        self.scheduler = scheduler
        self.trace = trace
        self.decisions = recipe.draw(0...UInt64.max)
        self.rate = recipe.pick([500_000, 4_000_000, 50_000_000])
        let largest = recipe.draw(0...39) == 0 ? 1_300_000 : recipe.pick([2000, 20_000, 60_000])
        let validators = recipe.pick(DatasetItem.Validators.allCases)
        let largestChanging = recipe.pick([20_000, 60_000, 400_000])
        let changes = recipe.has(oneIn: 4, "items change, and their responses have \(validators.rawValue)")
        var items: [DatasetItem] = []
        for number in 0..<recipe.draw(4...12) {
            items.append(
                DatasetItem(
                    &recipe,
                    number: number,
                    largest: changes ? largestChanging : largest,
                    validators,
                    changes: changes
                )
            )
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
        if recipe.has(oneIn: changes ? 2 : 50, "the server cuts bodies, in 0.3 of requests") {
            faults.append((.cuts, 0.3))
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
        let isIncomplete = reply.cut != nil || reply.stall != nil
        if isIncomplete || reply.rate < 10_000 { self.incomplete.insert(request.number) }
        self.traffic[request.process, default: Traffic()].requests += 1
        let status = reply.head?.status ?? 0
        // A slow body can end by the timeout.
        if isIncomplete || status == 0 || status == 429 || status >= 500 || reply.rate < 10_000 {
            self.traffic[request.process]?.faults += 1
        }
        if let status = reply.head?.status, let item = self.item(request) {
            self.statuses[item.number, default: []].insert(status)
        }
        self.trace.add(
            "server",
            "#\(request.number) \(request.method) \(request.url.path)\(request.fields["Range"].map { " \($0)" } ?? ""): "
                + (reply.head.map { "\($0.status) \($0.fields["ETag"] ?? "")" } ?? "nothing")
        )
        return reply
    }

    func delivered(_ count: Int, to request: ServerRequest) {
        self.traffic[request.process]?.bytes += Int64(count)
        if self.incomplete.contains(request.number) { self.traffic[request.process]?.lost += Int64(count) }
    }

    private func item(_ request: ServerRequest) -> DatasetItem? {
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
        _ item: DatasetItem,
        _ request: ServerRequest,
        _ fault: Fault?,
        _ generator: inout SeededGenerator
    ) -> ServerReply {
        let version = item.version(after: self.served[item.number, default: 0], in: self.run)
        self.served[item.number, default: 0] += 1
        let content = item.contents[version]
        let length = content.length
        var range = 0..<length
        var fields: HeaderFields = [
            "Date": HTTPDate.format(self.scheduler.trueNow), "Content-Type": item.type, "Accept-Ranges": "bytes",
        ]
        if let tag = item.tag(of: version) { fields.append("ETag", tag) }
        if let modified = item.modified(of: version) { fields.append("Last-Modified", modified) }
        var status = 200
        if let wanted = request.range(of: length), item.fulfills(request.fields["If-Range"], version) {
            if wanted.isEmpty {
                return ServerReply(416, ["Content-Range": "bytes */\(length)", "Content-Length": "0"])
            }
            (status, range) = (206, wanted)
            self.ranges += 1
            fields.append("Content-Range", "bytes \(wanted.lowerBound)-\(wanted.upperBound - 1)/\(length)")
        }
        let count = range.upperBound - range.lowerBound
        if fault != .chunked { fields.append("Content-Length", "\(count)") }
        var reply = ServerReply(status, fields)
        if request.method == "HEAD" { return reply }
        reply.head?.framing = fault == .chunked ? .chunked : .length(count)
        reply.content = content
        reply.range = range
        let place = Int64.random(in: 0..<max(1, count), using: &generator)
        switch fault {
        case .cuts: (reply.cut, reply.failure) = (place, .reset)
        case .stalls: reply.stall = place
        case .drips: reply.rate = min(9000, max(1000, count / 20))
        default: break
        }
        return reply
    }
}
