internal import NIOCore

/// What only the kernel knows of an answer that it has taken.
extension ConnectionHandler {
    /// Waits until the client has acknowledged what the kernel took: a small file fits into the socket's buffers.
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

    /// A large file goes out in one call of ours: whether the client takes any of it only the kernel knows.
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
