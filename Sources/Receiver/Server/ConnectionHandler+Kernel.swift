internal import NIOCore

/// The acknowledgement of sent bytes, which only the kernel knows.
extension ConnectionHandler {
    /// Waits until the client has acknowledged all bytes: a small file fits into the socket's send buffer.
    func awaitArrival(_ answer: Answer, _ bytes: Int64) {
        guard let channel = self.context?.channel, channel.isActive, let provider = channel as? any SocketOptionProvider
        else { return self.answerEnded(answer, nil) }
        SentBytes.areAllAcknowledged(provider).assumeIsolated()
            .whenComplete { result in
                if (try? result.get()) ?? true { return self.answerEnded(answer, channel.isActive ? bytes : nil) }
                channel.eventLoop.assumeIsolated()
                    .scheduleTask(in: .milliseconds(20)) { self.awaitArrival(answer, bytes) }
            }
    }

    /// Closes the connection if the client has not acknowledged any byte since the last check.
    ///
    /// A large file is sent by one write, so only the kernel knows the progress.
    func lookAtProgress() {
        guard let provider = self.context?.channel as? any SocketOptionProvider else { return self.end() }
        SentBytes.of(provider).assumeIsolated()
            .whenComplete { result in
                guard case .success(let count) = result, count > self.acknowledged else { return self.end() }
                self.acknowledged = count
                self.machine.progressed(now: .now())
                self.arm()
            }
    }
}
