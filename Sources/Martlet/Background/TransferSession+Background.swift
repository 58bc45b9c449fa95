// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

extension SessionConfiguration {
    /// A configuration for transfers that continue after the program has ended; a daemon, started if needed, runs them.
    ///
    /// - Parameters:
    ///   - identifier: The session's name, by which a later run of the program finds it: 1 to 128 letters, digits,
    ///     dots, hyphens and underscores.
    ///   - stateDirectory: The daemon's directory, or `nil` for the user's default.
    /// - Returns: The configuration; cookies are those of this process when the session is opened.
    public static func background(identifier: String, stateDirectory: String? = nil) -> SessionConfiguration {
        var configuration = SessionConfiguration.default
        configuration.background = BackgroundPlace(identifier: identifier, stateDirectory: stateDirectory)
        return configuration
    }

    /// The identifier of a background session's configuration, or `nil`.
    public var identifier: String? { self.background?.identifier }
}

/// Sessions whose transfers continue after the program has ended.
extension TransferSession {
    /// Creates a session with a delegate that receives a background session's events from the first one on.
    ///
    /// - Parameters:
    ///   - configuration: The configuration; later changes to the value have no effect on the session.
    ///   - delegate: The delegate, referenced weakly.
    ///   - context: The context in which it is called.
    /// - Throws: ``TransferError`` with `badConfiguration`.
    public convenience init(
        configuration: SessionConfiguration,
        delegate: any TransferDelegate,
        on context: CallbackContext = .anyThread
    ) throws(TransferError) {
        try self.init(configuration) { $0.addDelegate(delegate, on: context) }
    }

    /// Creates a session and waits until the daemon has opened it.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of a background session.
    ///   - delegate: A delegate, referenced weakly.
    ///   - context: The context in which it is called.
    /// - Returns: The session.
    /// - Throws: ``TransferError`` with `badConfiguration`; `sessionInUse`, which names the program that has it open;
    ///   `daemonUnavailable` if the daemon can be neither reached nor started.
    public static func open(
        _ configuration: SessionConfiguration,
        delegate: (any TransferDelegate)? = nil,
        on context: CallbackContext = .anyThread
    ) async throws(TransferError) -> TransferSession {
        let session = try TransferSession(configuration) { session in
            if let delegate { session.addDelegate(delegate, on: context) }
        }
        if let background = session.background, let error = await background.opened() {
            background.leave()
            throw error
        }
        return session
    }

    /// Whether the transfers continue after the program has ended.
    public var isBackground: Bool { self.background != nil }

    /// The error of a background session that cannot continue, or `nil`.
    public var failure: TransferError? {
        guard let background = self.background else { return nil }
        if case .failed(let error) = background.state.withLock({ $0.standing }) { return error }
        return nil
    }

    /// Returns when the daemon has stored all commands that the tasks of a background session have given so far.
    ///
    /// Not needed for safety: when ``TransferTask/resume()`` and the other calls return, the commands are in a file,
    /// which the daemon reads even if the program ends immediately. In another session it returns at once.
    ///
    /// - Throws: ``TransferError`` if the session cannot continue; `CancellationError` if the Swift task is cancelled.
    public func handOver() async throws {
        guard let background = self.background else { return }
        try await Promise<Void>
            .wait { done in
                background.whenHandedOver { error in done(error.map { .failure($0) } ?? .success(())) }
            }
    }

    /// Blocks until the daemon has stored all commands that the tasks have given so far; see ``handOver()``.
    ///
    /// - Parameter timeout: How long to wait; `nil` for no limit.
    /// - Throws: ``TransferError``, with `timeout` after that time.
    public func handOverBlocking(timeout: Duration? = nil) throws(TransferError) {
        guard let background = self.background else { return }
        try BlockingCall.check()
        try BlockingCall.wait(timeout, for: "the daemon") { done in
            background.whenHandedOver { error in done(error.map { .failure($0) } ?? .success(())) }
        } beginning: {
        }
    }

    /// Closes the session in this program: refuses new tasks, and releases the existing ones.
    ///
    /// In a background session the daemon continues the transfers, and reports their ends to the next session that is
    /// opened with the identifier, in this process or another. This returns when the daemon has all commands of the
    /// tasks, or cannot be reached. In another session it is ``finishTasksAndInvalidate()``.
    public func close() async {
        guard let background = self.background else { return self.finishTasksAndInvalidate() }
        self.registry.finish()
        await withCheckedContinuation { continuation in
            background.close(.leaving([{ continuation.resume() }]))
        }
        self.leave()
    }

    /// Starts the delivery of a background session's events.
    ///
    /// Delivery starts when there is a recipient: when a delegate is added, a task is resumed or its value is awaited,
    /// or with this call. A program that adds completion handlers to the tasks it finds calls it after adding them.
    public func beginDelivery() { self.background?.beginDelivery() }

    /// Acknowledges a background session's events up to a number; they are not delivered again.
    ///
    /// Needed only if ``SessionConfiguration/acknowledgesEvents`` is `manually`; otherwise acknowledgement is
    /// automatic.
    ///
    /// - Parameter number: An event's number, from ``TransferTask/eventNumber``.
    public func acknowledge(upTo number: Int64) { self.background?.acknowledge(upTo: number) }
}

extension BackgroundRunner {
    /// Waits until the session is open, has failed, or the daemon could not be reached several times.
    func opened() async -> TransferError? {
        await withCheckedContinuation { continuation in self.whenOpened { continuation.resume(returning: $0) } }
    }
}
