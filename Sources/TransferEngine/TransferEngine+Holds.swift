// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import Synchronization
public import TransferCore

/// Holds: hosts, or the network, whose transfers wait because of an outage, or because the host requested a delay.
extension TransferEngine {
    /// The holds of hosts that transfers wait for or are connected to; that of the network is first.
    ///
    /// O(n) in the number of hosts.
    package var holds: [HostHold] {
        let (now, wallNow) = (self.time.now, self.time.wallNow)
        return self.state.withLock { $0.machine.holds(at: now) }.map { HostHold($0, now: now, wallNow: wallNow) }
    }

    package var fileSystemHolds: [HostHold] {
        let (now, wallNow) = (self.time.now, self.time.wallNow)
        return self.state.withLock { $0.machine.fileSystemHolds() }.map { HostHold($0, now: now, wallNow: wallNow) }
    }

    /// The hold that the transfers of a URL's host wait for, if any; costs one look-up.
    package func hold(of url: HTTPURL) -> HostHold? {
        let (now, wallNow) = (self.time.now, self.time.wallNow)
        let gate = self.transport.proxy(for: url)
        let hold = self.state.withLock { $0.machine.hold(of: url.origin, gate: gate, at: now) }
        return hold.map { HostHold($0, now: now, wallNow: wallNow) }
    }

    /// Releases holds, so that their transfers start at once; for a user who knows that a server is available again.
    ///
    /// - Parameter origin: The host; `nil` for all hosts and the network.
    package func releaseHolds(of origin: Origin? = nil) {
        let now = self.time.now
        self.handle { $0.machine.releaseHolds(of: origin, now: now) }
    }

    func hostResponds(to transfer: TransferID, status: Int) {
        let now = self.time.now
        self.handle { $0.machine.hostResponds(to: transfer, status: status > 0 ? status : nil, now: now) }
    }

    func hostReached(by transfer: TransferID, status: Int?) {
        let now = self.time.now
        self.handle { $0.machine.hostReached(transfer, status: status, now: now) }
    }

    func event(_ kind: (HostHold) -> TransferEvent.Kind, _ hold: EngineMachine.Hold, _ now: Int64) -> TransferEvent {
        let hold = HostHold(hold, now: now, wallNow: self.time.wallNow)
        return TransferEvent(id: nil, url: "", userInfo: nil, kind: kind(hold))
    }

    /// The failure of a transfer whose outage timeout has expired.
    func outageFailure(_ hold: HostHold, _ options: DownloadOptions) -> TransferFailure {
        guard hold.reason != .fileSystem else {
            return TransferFailure(hold.code, hold.message, setting: .outageTimeout, isRetryable: true)
        }
        let allowed = options.outageTimeout.map { DurationFormat.compact($0) } ?? ""
        var failure = TransferFailure(
            hold.code,
            hold.reason == .errors
                ? "\(hold.placeInSentence) out of order since \(hold.sinceText) (\(hold.message)), longer than \(allowed)"
                : "\(hold.placeInSentence) unreachable since \(hold.sinceText) (\(hold.cause)), longer than \(allowed)",
            remedy: hold.reason == .errors ? "try again later" : "try again when it is reachable",
            setting: .outageTimeout,
            isRetryable: true
        )
        if options.outageTimeout == .zero { failure = TransferFailure(hold.code, hold.message, isRetryable: true) }
        return failure
    }
}

extension HostHold {
    init(_ hold: EngineMachine.Hold, now: Int64, wallNow: Int64) {
        self.init(
            origin: hold.origin,
            reason: hold.reason,
            code: hold.fileSystem?.code ?? hold.cause?.code ?? .overloaded,
            cause: hold.fileSystem.map { $0.code == .noSpace ? "full" : "read-only" } ?? hold.cause?.words
                ?? "it requested a retry later",
            message: hold.message,
            since: wallNow - (now - hold.since) / 1_000_000_000,
            nextTry: hold.nextTry.map { wallNow + ($0 - now + 999_999_999) / 1_000_000_000 },
            directory: hold.fileSystem?.directory
        )
    }

    /// The host and the port, or "the network".
    public var place: String {
        if let directory { return "the file system of '\(directory)'" }
        guard let origin = self.origin else { return "the network" }
        let host = origin.host.contains(":") ? "[\(origin.host)]" : origin.host
        return "\(host):\(origin.port)"
    }

    /// The host and the port after "host", or "network".
    public var placeInSentence: String {
        self.directory != nil ? self.place : self.origin == nil ? "network" : "host " + self.place
    }

    /// The start time of the hold, in local time; with the date if that is not today.
    public var sinceText: String {
        var (since, now) = (time_t(self.since), time(nil))
        var (parts, today) = (tm(), tm())
        guard localtime_r(&since, &parts) != nil, localtime_r(&now, &today) != nil else { return "?" }
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let time = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
        guard (parts.tm_year, parts.tm_yday) != (today.tm_year, today.tm_yday) else { return time }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) \(time)"
    }
}
