// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

/// A server that receives uploads, with faults.
final class UploadSite: ReceivingServer {
    /// The record of one request.
    struct Record {
        var method: String
        var process: Int
        var hasContent: Bool
        var quirk: UploadQuirk?
        /// The number of bytes of content that the server read.
        var read: Int64 = 0
        /// Whether the connection ended before all the content had arrived.
        var wasInterrupted = false
        /// Whether a response was decided.
        var isAnswered = false
    }

    /// The host of the endpoint, and the one to which it redirects.
    static let hosts = ["up.example", "other.example"]

    var model = ReceiverModel()
    /// The records of the requests, by number.
    private(set) var records: [Int: Record] = [:]
    /// The statuses that were sent.
    private(set) var statuses: Set<Int> = []
    /// The faults that occurred at least once.
    private(set) var used: Set<UploadQuirk> = []
    /// When the path of each resource was first named in a response, in nanoseconds.
    private(set) var namedAt: [String: Int64] = [:]
    /// Called with the process that sends content, when some has arrived.
    var onRead: ((Int) -> Void)?

    private let quirks: [(quirk: UploadQuirk, share: Double)]
    private let decisions: UInt64
    private let rate: Int64
    private let saysContinue: Bool
    private let scheduler: Scheduler
    private let trace: Trace

    init(_ recipe: inout Recipe, _ scheduler: Scheduler, _ trace: Trace) {
        self.scheduler = scheduler
        self.trace = trace
        self.decisions = recipe.draw(0...UInt64.max)
        self.rate = recipe.pick([100_000, 1_000_000, 8_000_000, 50_000_000])
        self.saysContinue = recipe.draw(0...3) > 0
        var quirks: [(quirk: UploadQuirk, share: Double)] = []
        for rarity in [2, 3, 5] {
            let quirk = recipe.pick(UploadQuirk.allCases)
            let share = recipe.pick([0.1, 0.25, 0.25, 0.5, 1])
            if recipe.has(oneIn: rarity, "the server \(quirk.rawValue), in \(share) of requests") {
                quirks.append((quirk, share))
            }
        }
        self.quirks = quirks
    }

    // MARK: Requests

    func reply(to request: ServerRequest) -> ServerReply {
        var generator = self.generator(request)
        let quirk = self.draw(&generator, hasContent: false)
        self.records[request.number] = Record(
            method: request.method,
            process: request.process,
            hasContent: false,
            quirk: quirk
        )
        self.spoil(quirk, request, &generator)
        if let reply = self.refusal(quirk, request, &generator) { return self.sent(reply, request) }
        var response: ReceiverModel.Response
        let wallNow = self.scheduler.trueNow
        switch self.model.begin(request, length: 0, hasContent: false, wallNow: wallNow) {
        case .respond(let decided): response = decided
        case .receive: response = self.model.complete(request.number)
        }
        return self.sent(self.respond(&response, request, quirk, &generator), request)
    }

    func began(_ request: ServerRequest, length: Int64?) -> ContentTerms {
        var generator = self.generator(request)
        let quirk = self.draw(&generator, hasContent: true)
        self.records[request.number] = Record(
            method: request.method,
            process: request.process,
            hasContent: true,
            quirk: quirk
        )
        var terms = ContentTerms()
        terms.rate = self.rate
        if self.saysContinue { terms.interim.append((100, [:])) }
        self.spoil(quirk, request, &generator)
        if let reply = self.refusal(quirk, request, &generator) {
            terms.reply = self.sent(reply, request)
            return terms
        }
        let wallNow = self.scheduler.trueNow
        switch self.model.begin(request, length: length, hasContent: true, wallNow: wallNow) {
        case .respond(var response):
            terms.reply = self.sent(self.respond(&response, request, quirk, &generator), request)
            return terms
        case .receive(let interim):
            if let interim {
                self.note(interim["Location"])
                terms.interim.append((104, interim))
            }
        }
        self.disturb(&terms, quirk, length ?? 100_000, &generator)
        self.tell(request, "receives \(length ?? -1) bytes\(quirk.map { ", and \($0.rawValue)" } ?? "")")
        return terms
    }

    private func disturb(
        _ terms: inout ContentTerms,
        _ quirk: UploadQuirk?,
        _ length: Int64,
        _ generator: inout SeededGenerator
    ) {
        let place = Int64.random(in: 0..<max(1, length), using: &generator)
        let code = [TransportError.Code.reset, .truncated, .broken].randomElement(using: &generator) ?? .reset
        switch quirk {
        case .cuts: terms.cut = (place, code)
        case .cutsLast: terms.cut = (max(0, length - 1), code)
        case .breaksFirst: terms.cut = (0, code)
        case .stalls: terms.stall = (place, nil)
        case .pauses: terms.stall = (place, Int64.random(in: 1...200, using: &generator) * 1_000_000_000)
        case .slow: terms.rate = max(500, length / 30)
        case .interim:
            terms.interim.append((103, ["Link": "</style.css>"]))
            terms.interim.append((104, Bool.random(using: &generator) ? [:] : ["Location": "http://["]))
            terms.interim.append((102, [:]))
        default: break
        }
    }

    func received(_ bytes: ArraySlice<UInt8>, of request: ServerRequest) -> ServerReply? {
        self.records[request.number]?.read += Int64(bytes.count)
        _ = self.model.take(bytes, request.number)
        self.onRead?(request.process)
        guard self.records[request.number]?.quirk == .early, self.records[request.number]?.isAnswered == false else {
            return nil
        }
        return self.sent(ServerReply(201), request)
    }

    func completed(_ request: ServerRequest) -> ServerReply {
        var generator = self.generator(request)
        let record = self.records[request.number]
        switch record?.quirk {
        case .serverErrorLate:
            self.model.drop(request.number, count: Int(record?.read ?? 0))
            return self.sent(ServerReply([500, 502, 503, 504].randomElement(using: &generator) ?? 500), request)
        case .losesResponse:
            _ = self.model.complete(request.number)
            return self.sent(ServerReply(breaking: .reset), request)
        case .takesPart:
            let read = Int(record?.read ?? 0)
            self.model.shorten(request.number, by: Int.random(in: 0...read, using: &generator))
            return self.sent(Self.reply(self.model.complete(request.number)), request)
        case .silent:
            _ = self.model.complete(request.number)
            return self.sent(Self.silence, request)
        case .redirectsToGet:
            var response = self.model.complete(request.number)
            if response.status == 201 {
                response.status = Bool.random(using: &generator) ? 303 : 302
                response.fields.append("Location", "http://\(Self.hosts[1])\(request.url.path)")
            }
            return self.sent(Self.reply(response), request)
        default:
            var response = self.model.complete(request.number)
            return self.sent(self.respond(&response, request, record?.quirk, &generator), request)
        }
    }

    func interrupted(_ request: ServerRequest) {
        self.records[request.number]?.wasInterrupted = true
        self.model.interrupt(request.number)
        self.tell(request, "the connection ended after \(self.records[request.number]?.read ?? 0) bytes")
    }

    func delivered(_ count: Int, to request: ServerRequest) {}

    // MARK: Faults

    /// The decisions of a response depend on the number of its request alone.
    private func generator(_ request: ServerRequest) -> SeededGenerator {
        SeededGenerator(seed: self.decisions ^ (UInt64(request.number) &* 0x9E37_79B9_7F4A_7C15))
    }

    private func draw(_ generator: inout SeededGenerator, hasContent: Bool) -> UploadQuirk? {
        var result: UploadQuirk?
        for (quirk, share) in self.quirks where result == nil {
            let isDrawn = Double.random(in: 0..<1, using: &generator) < share
            if isDrawn, hasContent || !quirk.isOfContent { result = quirk }
        }
        if let result { self.used.insert(result) }
        return result
    }

    /// Removes or shortens the upload of a request before it is handled.
    private func spoil(_ quirk: UploadQuirk?, _ request: ServerRequest, _ generator: inout SeededGenerator) {
        let path = request.url.path
        guard let resource = self.model.resources[path], !resource.isSingle else { return }
        switch quirk {
        case .expires:
            self.tell(request, "the upload has expired")
            self.model.forget(path)
        case .losesTail where !resource.isComplete && !resource.bytes.isEmpty:
            let count = Int.random(in: 1...resource.bytes.count, using: &generator)
            self.tell(request, "the last \(count) bytes are lost")
            self.model.lose(count, of: path)
        default: break
        }
    }

    /// The response of a quirk that refuses the request.
    private func refusal(
        _ quirk: UploadQuirk?,
        _ request: ServerRequest,
        _ generator: inout SeededGenerator
    ) -> ServerReply? {
        func status(_ statuses: [Int], _ delay: String? = nil) -> ServerReply {
            var fields: HeaderFields = ["Content-Length": "0"]
            if let delay { fields.append("Retry-After", delay) }
            return ServerReply(statuses.randomElement(using: &generator) ?? 500, fields)
        }
        let hasContent = self.records[request.number]?.hasContent ?? false
        switch quirk {
        case .breaksFirst where !hasContent: return ServerReply(breaking: .reset)
        case .silent where !hasContent: return Self.silence
        case .losesResponse where !hasContent:
            self.perform(request)
            return ServerReply(breaking: .truncated)
        case .serverError: return status([500, 502, 503, 504])
        case .serverErrorWithDelay:
            return status(
                [503],
                ["0", "1", "30", "-1", "soon", "99999999999999999999"].randomElement(using: &generator)
            )
        case .tooMany: return status([429], Bool.random(using: &generator) ? "1" : nil)
        case .denied: return status([401, 403])
        case .conflict:
            var reply = status([409])
            let count = self.model.resources[request.url.path]?.bytes.count
            if let count { reply.head?.fields.append("Upload-Offset", "\(count)") }
            return reply
        case .gone: return status([404, 410])
        case .locked: return status([423])
        case .tooLarge: return status([413])
        case .expectation: return status([417])
        case .badChecksum: return status([460])
        case .noSpace: return status([507])
        case .malformed: return ServerReply(breaking: .malformed)
        case .redirects:
            return self.redirect([307, 308].randomElement(using: &generator) ?? 307, Self.hosts[1], request)
        case .redirectsForEver: return self.redirect(307, request.url.host, request)
        case .redirectsToGet where !hasContent || Bool.random(using: &generator):
            // Without content this is how a server responds to what it has done.
            if !hasContent { self.perform(request) }
            return self.redirect([302, 303].randomElement(using: &generator) ?? 302, Self.hosts[1], request)
        default: return nil
        }
    }

    /// Handles a request without content whose response is lost or replaced.
    private func perform(_ request: ServerRequest) {
        let wallNow = self.scheduler.trueNow
        guard case .receive = self.model.begin(request, length: 0, hasContent: false, wallNow: wallNow) else { return }
        _ = self.model.complete(request.number)
    }

    private func redirect(_ status: Int, _ host: String, _ request: ServerRequest) -> ServerReply {
        ServerReply(status, ["Location": "http://\(host)\(request.url.path)", "Content-Length": "0"])
    }

    private static var silence: ServerReply {
        var reply = ServerReply(breaking: .reset)
        (reply.cut, reply.failure) = (nil, nil)
        return reply
    }

    // MARK: Responses

    private func respond(
        _ response: inout ReceiverModel.Response,
        _ request: ServerRequest,
        _ quirk: UploadQuirk?,
        _ generator: inout SeededGenerator
    ) -> ServerReply {
        if let offset = response.fields["Upload-Offset"].flatMap({ Int64($0) }) {
            let length = self.model.resources[request.url.path]?.length ?? offset
            switch quirk {
            case .omitsOffset: response.fields["Upload-Offset"] = nil
            case .wrongOffset:
                // Never the length: a server that claims to have everything cannot be caught.
                let isHigh = Int.random(in: 0..<4, using: &generator) == 0
                let wrong = Int64.random(in: isHigh ? length + 1...2 * length + 9 : -1...length - 1, using: &generator)
                response.fields["Upload-Offset"] = "\(wrong)"
            default: break
            }
        }
        var reply = Self.reply(response)
        if quirk == .interim { reply.interim = [103] }
        return reply
    }

    private static func reply(_ response: ReceiverModel.Response) -> ServerReply {
        var fields = response.fields
        if !fields.contains("Content-Length") { fields.append("Content-Length", "0") }
        return ServerReply(response.status, fields)
    }

    private func sent(_ reply: ServerReply, _ request: ServerRequest) -> ServerReply {
        self.records[request.number]?.isAnswered = true
        if let head = reply.head {
            self.statuses.insert(head.status)
            if head.status == 201 { self.note(head.fields["Location"]) }
        }
        let quirk = self.records[request.number]?.quirk.map { ": \($0.rawValue)" } ?? ""
        self.tell(request, "\(reply.head.map { "\($0.status)" } ?? "nothing")\(quirk)")
        return reply
    }

    private func note(_ location: String?) {
        guard let location, location.hasPrefix("/") else { return }
        self.namedAt[location] = self.namedAt[location] ?? self.scheduler.now
    }

    private func tell(_ request: ServerRequest, _ text: @autoclosure () -> String) {
        self.trace.add(
            "server",
            "#\(request.number) \(request.method) \(request.url.host)\(request.url.path)"
                + (request.fields["Upload-Offset"].map { " from \($0)" } ?? "") + ": \(text())"
        )
    }
}
