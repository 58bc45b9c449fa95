// SPDX-License-Identifier: Apache-2.0
import Control
import TransferCore

/// Performs the requests and changes of `martlet top` with the daemon's client.
struct TopClient: Sendable {
    private let client: ControlClient

    init(_ client: ControlClient) { self.client = client }

    /// Asks which parameters of `martlet.list` the daemon has.
    ///
    /// A daemon ignores unknown parameters and refuses those of a wrong type.
    ///
    /// - Throws: `ControlError` if the daemon cannot be reached or uses another version of the protocol.
    func features() async throws(ControlError) -> TopFeatures {
        try await self.client.daemon()
        return TopFeatures(canSearch: try await self.refuses("search"), canSort: try await self.refuses("sort"))
    }

    private func refuses(_ parameter: String) async throws(ControlError) -> Bool {
        do throws(ControlError) {
            _ = try await self.client.call("martlet.list", .object([.init(parameter, 0), .init("limit", 1)]))
            return false
        } catch {
            guard error.code == .badParameter else { throw error }
            return true
        }
    }

    /// Loads what a request asks for.
    func load(_ request: TopRequest, _ features: TopFeatures) async throws(ControlError) -> TopSnapshot {
        let start = ContinuousClock.now
        var snapshot = TopSnapshot(request: request)
        snapshot.features = features
        if request.limit > 0 { snapshot.records = try await self.rows(request) }
        snapshot.counts = QueueCounts(
            json: try await self.client.call("martlet.counts", .object(Self.searching(request.query)))
        )
        if let id = request.details { snapshot.details = try await self.details(id) }
        if request.wantsLimits { snapshot.limits = TopLimits(json: try await self.client.call("martlet.limits")) }
        if request.wantsSessions { snapshot.sessions = try await self.programs() }
        snapshot.seconds = Quantity.seconds(ContinuousClock.now - start)
        return snapshot
    }

    private func rows(_ request: TopRequest) async throws(ControlError) -> [TransferRecord] {
        let query = request.query
        // -1 is the last transfer, and the one before it follows.
        let offset = query.isReversed ? -1 - request.offset : request.offset
        var params: [JSON.Member] = [
            .init("offset", .integer(Int64(offset))), .init("limit", .integer(Int64(request.limit))),
        ]
        if !query.tab.states.isEmpty {
            params.append(.init("states", .array(query.tab.states.map { .string($0.rawValue) })))
        }
        params += Self.searching(query)
        if let sort = query.order.parameter { params.append(.init("sort", .string(sort))) }
        let answer = try await self.client.call("martlet.list", .object(params))
        let records = (answer.array ?? []).compactMap { TransferRecord(json: $0) }
        guard records.count == answer.array?.count else {
            throw ControlError(
                .protocolMismatch,
                "the daemon's list has another form than this version knows",
                remedy: "stop the daemon and start it again from this version"
            )
        }
        return records
    }

    private static func searching(_ query: TopQuery) -> [JSON.Member] {
        query.search.isEmpty ? [] : [.init("search", .string(query.search))]
    }

    private func details(_ id: GID) async throws(ControlError) -> Result<TransferRecord, ControlError> {
        do throws(ControlError) {
            guard let record = try await self.client.show([id.description], details: true).first else {
                return .failure(ControlError(.notFound, "the transfer does not exist any more"))
            }
            return .success(record)
        } catch {
            guard error.code == .notFound else { throw error }
            return .failure(error)
        }
    }

    private func programs() async throws(ControlError) -> [String: String] {
        let sessions = try await self.client.call("martlet.sessions").array ?? []
        var programs: [String: String] = [:]
        for session in sessions {
            if let name = session["identifier"]?.string { programs[name] = session["program"]?.string ?? "" }
        }
        return programs
    }

    // MARK: Changes

    /// Performs a change.
    ///
    /// - Returns: A text for the user; empty if the change is visible.
    func perform(_ call: TopCall) async throws(ControlError) -> String {
        switch call {
        case .pause(let selection): return try await self.apply("martlet.pause", selection, "paused")
        case .resume(let selection): return try await self.apply("martlet.resume", selection, "resumed")
        case .retry(let selection): return try await self.apply("martlet.retry", selection, "queued again")
        case .forget(let selection):
            return try await self.apply("martlet.forget", selection, "removed from the history")
        case .remove(let selection, let deletesPartial):
            let more: [JSON.Member] = deletesPartial ? [.init("deletePartial", true)] : []
            return try await self.apply("martlet.remove", selection, "removed", more)
        case .move(let id, let place):
            try await self.move(id, place)
            return ""
        case .limitRate(let rate):
            try await self.limit(.maxOverallDownloadLimit, "\(rate)")
            return rate == 0
                ? "the total rate is not limited" : "the total rate is at most \(Quantity.rate(Double(rate)))"
        case .limitConcurrent(let number):
            try await self.limit(.maxConcurrentDownloads, "\(number)")
            return "at most \(TopText.count(number)) at once"
        case .limitHost(let host, let number):
            let limit: JSON = number == 0 ? .null : .integer(Int64(number))
            _ = try await self.client.call("martlet.setHostLimit", ["host": .string(host), "connections": limit])
            return number == 0 ? "\(host) is not limited" : "\(host): at most \(TopText.count(number, "connection"))"
        case .limitTransfers(let ids, let rate):
            for id in ids { try await LimitCommand.limit(id.description, rate: rate, self.client) }
            return "the rate of \(TopText.count(ids.count)) is \(rate == 0 ? "not limited" : "limited")"
        case .replaceURLs(let id, let urls, let retries):
            let list = JSON.array(urls.map { .string($0) })
            _ = try await self.client.call("martlet.replaceURI", ["id": .string(id.description), "urls": list])
            guard retries else { return "the URL is replaced" }
            try await self.client.perform("martlet.retry", on: .ids([id.description]))
            return "the URL is replaced, and the transfer is queued again"
        }
    }

    private func apply(
        _ method: String,
        _ selection: TopSelection,
        _ done: String,
        _ more: [JSON.Member] = []
    ) async throws(ControlError) -> String {
        var count = 0
        do throws(ControlError) {
            count = try await self.client.perform(method, on: selection.control, more)
        } catch {
            guard case .ids(let ids) = selection, ids.count > 1, Self.isAboutState(error) else { throw error }
            // Nothing was changed. One that ended in the meantime must not keep the others from being changed.
            for id in ids {
                do throws(ControlError) {
                    count += try await self.client.perform(method, on: .ids([id.description]), more)
                } catch {
                    guard Self.isAboutState(error) else { throw error }
                }
            }
            if count == 0 { throw error }
        }
        return "\(TopText.count(count)) \(done)"
    }

    private static func isAboutState(_ error: ControlError) -> Bool {
        error.code == .wrongState || error.code == .notFound
    }

    private func limit(_ option: OptionName, _ value: String) async throws(ControlError) {
        let options = JSON.object([.init(option.rawValue, .string(value))])
        _ = try await self.client.call("martlet.setLimits", ["options": options])
    }

    private func move(_ id: GID, _ place: TopPlace) async throws(ControlError) {
        let (offset, how): (Int, String)
        switch place {
        case .first: (offset, how) = (0, "POS_SET")
        case .last: (offset, how) = (0, "POS_END")
        case .relative(let step): (offset, how) = (step, "POS_CUR")
        case .of(let other):
            // The other one may have ended in the meantime; then there is nothing to pass.
            guard let position = try await self.client.show([other.description]).first?.position else { return }
            (offset, how) = (position, "POS_SET")
        }
        let params: JSON = [
            "id": .string(id.description), "position": .integer(Int64(offset)), "how": .string(how),
        ]
        _ = try await self.client.call("martlet.move", params)
    }
}
