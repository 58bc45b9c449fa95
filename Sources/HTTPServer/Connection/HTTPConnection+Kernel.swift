// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// The acknowledgement of sent bytes, which only the kernel knows.
extension HTTPConnection {
    /// Waits until the client has acknowledged all bytes: a small file fits into the socket's send buffer.
    func awaitArrival(_ response: Response, _ bytes: Int64) {
        guard let channel = self.context?.channel, channel.isActive, let provider = channel as? any SocketOptionProvider
        else { return self.responseEnded(response, nil) }
        SentBytes.areAllAcknowledged(provider).assumeIsolated()
            .whenComplete { result in
                if (try? result.get()) ?? true { return self.responseEnded(response, channel.isActive ? bytes : nil) }
                channel.eventLoop.assumeIsolated()
                    .scheduleTask(in: .milliseconds(20)) { self.awaitArrival(response, bytes) }
            }
    }

    /// Closes the connection if the client has not acknowledged any byte since the last check.
    ///
    /// A large file is sent by one write, so only the kernel knows the progress.
    func lookAtProgress() {
        if self.pump?.isWaitingForSource == true || self.hasSentMore {
            self.machine.progressed(now: .now())
            return self.arm()
        }
        guard let provider = self.context?.channel as? any SocketOptionProvider else { return self.end() }
        SentBytes.of(provider).assumeIsolated()
            .whenComplete { result in
                guard case .success(let count) = result, count > self.acknowledged else { return self.end() }
                self.acknowledged = count
                self.machine.progressed(now: .now())
                self.arm()
            }
    }

    /// Whether the channel has fewer unsent bytes than at the last check.
    ///
    /// The kernel does not report more about a Unix socket.
    private var hasSentMore: Bool {
        guard self.isLocal, let options = self.context?.channel.syncOptions,
            let unsent = try? options.getOption(.bufferedWritableBytes)
        else { return false }
        defer { self.unsent = unsent }
        return unsent < self.unsent
    }

    /// Notes the number of sent bytes before a response.
    func beginMeasuring() {
        self.measure()
        self.acknowledgedBefore = self.acknowledged
    }

    /// Updates the number of sent bytes, if the connection is still open.
    ///
    /// On the event loop, the option is read at once.
    func measure() {
        guard let channel = self.context?.channel, channel.isActive, let provider = channel as? any SocketOptionProvider
        else { return }
        SentBytes.of(provider).assumeIsolated()
            .whenComplete { if case .success(let count) = $0 { self.acknowledged = max(self.acknowledged, count) } }
    }

    /// The number of content bytes of an interrupted response that were sent, without the smallest head.
    ///
    /// On an encrypted connection, the bytes of TLS are included.
    func arrived(of length: Int64) -> Int64 {
        self.measure()
        let count = Int64(clamping: self.acknowledged - self.acknowledgedBefore) - Self.smallestHead
        return min(max(0, count), length)
    }

    /// The size of the smallest response head with content, in bytes.
    private static let smallestHead: Int64 = 200
}
