// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// The network of a world: hosts by name, and their outages.
package final class SimulatedNetwork {
    /// A time in which a host, or every host, cannot be reached.
    package struct Outage {
        /// The host, or `nil` for all.
        package var host: String?
        /// Nanoseconds of virtual time.
        package var time: Range<Int64>
        /// The error of a connection attempt.
        package var code: TransportError.Code
        /// Whether open connections break at its beginning.
        package var breaksConnections: Bool

        /// Creates an outage.
        package init(host: String?, time: Range<Int64>, code: TransportError.Code, breaksConnections: Bool) {
            self.host = host
            self.time = time
            self.code = code
            self.breaksConnections = breaksConnections
        }
    }

    /// The servers, by the names of their hosts.
    package var servers: [String: any SimulatedServer] = [:]
    package var outages: [Outage] = []
    /// The time of a round trip, in nanoseconds.
    package var roundTrip: Int64 = 2_000_000
    /// One idle connection in this number has been closed by the server when it is used again; 0 for none.
    package var staleOneIn = 0
    /// One connection attempt in this number fails for want of descriptors; 0 for none.
    package var shortageOneIn = 0
    /// The largest piece of a body that is delivered at once.
    package var piece = 48 << 10
    /// The time in which every connection attempt fails for want of descriptors.
    package var shortage: Range<Int64> = 0..<0
    /// Called when an exchange has failed, before its run is notified.
    package var onFailed: (() -> Void)?
    /// Called when a request arrives at a server, with the number of its process.
    package var onRequest: ((ServerRequest) -> Void)?
    /// The errors of connection attempts and exchanges, for the judge: the reason of a failure must be among them.
    package var met: Set<TransportError.Code> = []
    /// Called with a process's number and a number of bytes of a body, after they were delivered to it.
    package var onDelivered: ((Int, Int) -> Void)?
    /// The number of requests that servers received.
    package private(set) var requests = 0

    let scheduler: Scheduler
    let trace: Trace
    private var connections = 0
    private var active: [String: Int] = [:]
    /// When the requests that have no response yet were sent, by connection.
    private var unanswered: [Int: Int64] = [:]
    private var longestSilence: Int64 = 0

    /// Creates a network without hosts.
    package init(_ scheduler: Scheduler, _ trace: Trace) {
        self.scheduler = scheduler
        self.trace = trace
    }

    /// The outage of a host now, if there is one.
    func outage(of host: String) -> Outage? {
        let now = self.scheduler.now
        return self.outages.first { ($0.host == nil || $0.host == host) && $0.time.contains(now) }
    }

    /// The end of the last outage, in nanoseconds.
    package var lastOutageEnd: Int64 { self.outages.map(\.time.upperBound).max() ?? 0 }

    func newConnection() -> Int {
        self.connections += 1
        return self.connections
    }

    func nextRequest() -> Int {
        self.requests += 1
        return self.requests
    }

    func others(of host: String) -> Int { self.active[host, default: 0] }
    func began(_ host: String, _ connection: Int) {
        self.active[host, default: 0] += 1
        self.unanswered[connection] = self.scheduler.now
    }
    func ended(_ host: String) { self.active[host, default: 0] -= 1 }

    /// The response to a request began, or the request ended without one.
    func answered(_ connection: Int) {
        guard let start = self.unanswered.removeValue(forKey: connection) else { return }
        self.longestSilence = max(self.longestSilence, self.scheduler.now - start)
    }

    /// Whether a request has waited so long for its response that its run lent its place to another transfer.
    func hasBeenSilent() -> Bool {
        let longest = self.unanswered.values.map { self.scheduler.now - $0 }.max() ?? 0
        return max(self.longestSilence, longest) >= EngineMachine.silence
    }

    /// An error for the run, which is also among the reasons that a failure may have.
    func error(_ code: TransportError.Code, _ host: String, isReused: Bool = false) -> TransportError {
        self.met.insert(code)
        return TransportError(code, "\(host): \(code.rawValue)", onReusedConnection: isReused)
    }
}
