// SPDX-License-Identifier: Apache-2.0
public import Foundation
#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif
public import Martlet
internal import Synchronization
internal import TransferEngine

/// A background session of the system, which continues downloads while the program is suspended or not running.
///
///     let configuration = SessionConfiguration.systemBackground(SystemBackground(identifier: "com.example.films"))
///     let list = try OfflineDownloads(list: file, directory: films, configuration: configuration)
///     try list.resumeInterrupted()
///
/// A download is a download task of the system, described by its request. After a relaunch, the same request, as the
/// list makes it again, gets the task's response, even if it arrived in the meantime. The engine then checks, writes
/// and names the file as it does with any other. Until then its progress is not known.
///
/// Only GET requests without content run there, and only those without credentials unless ``sendsCredentials`` is set.
/// Others run in the program's own session. In the background the system follows redirects, without Martlet's rules.
///
/// Linux has no background sessions: the tasks end with the program there.
public struct SystemBackground: Sendable {
    /// The identifier of the session, unique within the program.
    public var identifier: String

    /// The directory of responses that have arrived and were not delivered yet; created when needed.
    public var directory: URL

    /// Whether requests with credentials or cookies run in the background.
    ///
    /// The system follows redirects, and Martlet does not know what it then sends to another server.
    public var sendsCredentials = false

    /// Whether the system chooses the time, such as when the device charges and is on Wi-Fi.
    public var isDiscretionary = false

    /// Whether expensive networks are used, such as cellular ones.
    public var allowsExpensiveNetwork = true

    /// The number of responses that are kept although the program does not request them again; the oldest are deleted
    /// first.
    public var unclaimedLimit = 1000

    /// Changes the system's configuration of the session, after Martlet has set it up.
    public var adjust: (@Sendable (URLSessionConfiguration) -> Void)?

    /// Creates the options of a session.
    ///
    /// - Parameters:
    ///   - identifier: The identifier, unique within the program; two runs of the program use the same one.
    ///   - directory: The directory of undelivered responses; `nil` for one in the user's caches.
    public init(identifier: String, directory: URL? = nil) {
        self.identifier = identifier
        self.directory =
            directory
            ?? (FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
            ?? FileManager.default.temporaryDirectory)
            .appendingPathComponent("martlet-background")
            .appendingPathComponent(Self.fileName(identifier))
    }

    private static func fileName(_ identifier: String) -> String {
        identifier.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "session"
    }

    /// Takes the completion handler of `application(_:handleEventsForBackgroundURLSession:completionHandler:)`.
    ///
    /// It is called on the main queue once the system has reported all events of the session and the responses that the
    /// program has requested again were delivered. Open the list of downloads, or create the session, after this call.
    /// What is not requested by then is delivered when the program runs again.
    ///
    /// - Parameters:
    ///   - identifier: The identifier of the session.
    ///   - completionHandler: The handler.
    public static func handleEvents(
        forBackgroundURLSession identifier: String,
        completionHandler: @escaping @Sendable () -> Void
    ) {
        BackgroundRegistry.shared.add(completionHandler, for: identifier)
    }
}

extension SessionConfiguration {
    /// Downloads that the system continues while the program is suspended or not running.
    ///
    /// Each download is one request, and many are given to the system at once, because the program does not run to
    /// start the next one.
    ///
    /// - Parameter background: The options of the session. The first ones for an identifier hold for the process.
    /// - Returns: The configuration.
    public static func systemBackground(_ background: SystemBackground) -> SessionConfiguration {
        var configuration = SessionConfiguration.default
        configuration.transport = .urlSession(background: background)
        configuration.connectionsPerDownload = 1
        configuration.concurrentTransfers = 64
        return configuration
    }
}

/// The background sessions of the process, and the handlers with which the system waits.
final class BackgroundRegistry: Sendable {
    static let shared = BackgroundRegistry()

    private let sessions = Mutex<[String: BackgroundTransfers]>([:])
    private let handlers = Mutex<[String: [@Sendable () -> Void]]>([:])

    /// The session of an identifier, which is opened if it is not open.
    func session(_ options: SystemBackground) -> BackgroundTransfers {
        self.sessions.withLock { sessions in
            if let known = sessions[options.identifier] { return known }
            let lane = SystemLane("martlet.background.\(options.identifier)")
            let made = BackgroundTransfers(
                directory: options.directory,
                on: lane,
                unclaimedLimit: options.unclaimedLimit
            ) { takes in self.wake(options.identifier, takes: takes) }
            sessions[options.identifier] = made
            made.open { SystemBackgroundTasks(options, on: lane, receiver: $0) }
            return made
        }
    }

    func add(_ handler: @escaping @Sendable () -> Void, for identifier: String) {
        self.handlers.withLock { $0[identifier, default: []].append(handler) }
    }

    /// Whether there are handlers; with `takes` they are called.
    private func wake(_ identifier: String, takes: Bool) -> Bool {
        guard takes else { return self.handlers.withLock { $0[identifier] != nil } }
        let handlers = self.handlers.withLock { $0.removeValue(forKey: identifier) } ?? []
        DispatchQueue.main.async { for handler in handlers { handler() } }
        return !handlers.isEmpty
    }
}
