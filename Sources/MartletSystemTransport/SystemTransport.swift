// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import TransferEngine

/// A transport on the system's `URLSession`: one lane, TLS and proxies as the system has them.
final class SystemTransport: Transport {
    private let lane: SystemLane
    let session: SystemSession
    /// The tasks that the system continues in the background, or `nil`.
    private let background: BackgroundTransfers?
    private let sendsCredentials: Bool

    var laneCount: Int { 1 }

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - options: The options of the tasks that end with the program.
    ///   - background: The background session for downloads, or `nil`.
    ///   - sendsCredentials: Whether the background session gets requests with credentials.
    init(_ options: SystemTransportOptions, background: BackgroundTransfers? = nil, sendsCredentials: Bool = false) {
        self.lane = background?.lane ?? SystemLane("martlet.urlsession")
        self.session = SystemSession(options, on: self.lane)
        self.background = background
        self.sendsCredentials = sendsCredentials
    }

    // A session retains its delegate until it is invalidated.
    deinit { self.lane.execute { [session] in session.finish() } }

    func execute(onLane lane: Int, _ work: @escaping @Sendable () -> Void) { self.lane.execute(work) }

    func start(_ request: ExchangeRequest, onLane lane: Int, receiver: any ExchangeReceiver) -> any Exchange {
        if let background, BackgroundKey.allows(request, withCredentials: self.sendsCredentials) {
            return background.start(request, for: self, receiver: receiver)
        }
        return self.session.start(request, receiver: receiver)
    }

    func shutdown() async {
        await withCheckedContinuation { continuation in
            self.lane.execute {
                self.background?.detach(from: self)
                self.session.shutDown()
                continuation.resume()
            }
        }
    }
}
