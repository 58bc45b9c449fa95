internal import Synchronization

extension SessionConfiguration {
    /// For work that goes on when the program is gone: a daemon does it, which is started where none runs.
    ///
    /// - Parameters:
    ///   - identifier: The session's name, by which a later run of the program finds it: 1 to 128 letters, digits, dots,
    ///     hyphens and underscores.
    ///   - stateDirectory: The daemon's directory, or `nil` for the user's usual one.
    /// - Returns: The configuration; cookies are those of this process at the moment when the session is opened.
    public static func background(identifier: String, stateDirectory: String? = nil) -> SessionConfiguration {
        var configuration = SessionConfiguration.default
        configuration.background = BackgroundPlace(identifier: identifier, stateDirectory: stateDirectory)
        return configuration
    }

    /// The identifier of a background session's configuration, or `nil`.
    public var identifier: String? { self.background?.identifier }
}

/// Sessions whose work outlives the program.
extension TransferSession {
    /// Makes a session with a delegate, so that a background session's first event finds it there.
    ///
    /// - Parameters:
    ///   - configuration: How it works; later changes of the value do not reach it.
    ///   - delegate: The delegate, held weakly.
    ///   - context: Where it is called.
    /// - Throws: ``TransferError`` with `badConfiguration`.
    public convenience init(
        configuration: SessionConfiguration,
        delegate: any TransferDelegate,
        on context: CallbackContext = .anyThread
    ) throws(TransferError) {
        try self.init(configuration) { $0.addDelegate(delegate, on: context) }
    }

    /// Makes a session and waits until the daemon has it open.
    ///
    /// - Parameters:
    ///   - configuration: A background session's.
    ///   - delegate: A delegate, held weakly.
    ///   - context: Where it is called.
    /// - Returns: The session.
    /// - Throws: ``TransferError`` with `badConfiguration`; `sessionInUse`, which names the program that has it open;
    ///   `daemonUnavailable` where the daemon can be neither reached nor started.
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

    /// Whether the work outlives the program.
    public var isBackground: Bool { self.background != nil }

    /// Why a background session cannot go on, or `nil`.
    public var failure: TransferError? {
        guard let background = self.background else { return nil }
        if case .failed(let error) = background.state.withLock({ $0.standing }) { return error }
        return nil
    }

    /// Lets a background session tell its events.
    ///
    /// They are held back until somebody can hear of them: until a delegate is added, a task is resumed or its value
    /// awaited, or this is called. A program that gives the tasks it finds completion handlers calls it when they have them.
    public func beginDelivery() { self.background?.beginDelivery() }

    /// Says that the program has handled a background session's events up to a number, which will not come again.
    ///
    /// Only where ``SessionConfiguration/acknowledgesEvents`` is `manually`; otherwise it happens by itself.
    ///
    /// - Parameter number: An event's number, from ``TransferTask/eventNumber``.
    public func acknowledge(upTo number: Int64) { self.background?.acknowledge(upTo: number) }
}

extension BackgroundRunner {
    /// Waits until the session is open, cannot be, or the daemon was missed several times.
    func opened() async -> TransferError? {
        await withCheckedContinuation { continuation in self.whenOpened { continuation.resume(returning: $0) } }
    }
}
