// SPDX-License-Identifier: Apache-2.0
#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif
public import TransferEngine

/// The options of a transport on the system's `URLSession`.
public struct SystemTransportOptions: Sendable {
    /// The time until a server responds, or receives the first byte of a request's content.
    ///
    /// It takes the place of `SessionConfiguration.connectTimeout`, and for the head of a response that of
    /// `requestTimeout`: the system does not report when it has connected.
    public var responseTimeout = Duration.seconds(60)

    /// The number of bytes of one response that are kept while its receiver does not read.
    ///
    /// Beyond it the response is cut, and the rest is requested again. Apple's systems stop reading before that.
    public var bufferedBytes = 16 << 20

    /// Changes the system's configuration, after Martlet has set it up.
    public var adjust: (@Sendable (URLSessionConfiguration) -> Void)?

    /// Creates the default options.
    public init() {}
}

extension TransportOverride {
    /// The system's `URLSession` instead of Martlet's own connections.
    ///
    ///     var configuration = SessionConfiguration.default
    ///     configuration.transport = .urlSession()
    ///     let queue = try TransferQueue(configuration: configuration)
    ///
    /// TLS and proxies are those of the system: a session refuses roots, pins and certificates of its own
    /// (`SessionConfiguration.tls`), and other proxies than the environment's (`SessionConfiguration.proxy`). Redirects,
    /// cookies, credentials, the cache and retries remain Martlet's. On Linux prefer Martlet's own connections:
    /// Foundation's session there ends the process on some malformed responses.
    ///
    /// - Parameter options: The options.
    /// - Returns: The value for `SessionConfiguration.transport`, for any number of sessions.
    public static func urlSession(_ options: SystemTransportOptions = SystemTransportOptions()) -> TransportOverride {
        TransportOverride(usesSystemSettings: true) { SystemTransport(options) }
    }

    /// A background session of the system for downloads, and an ordinary one for other requests.
    ///
    /// `SessionConfiguration.systemBackground(_:)` has the settings that suit it.
    ///
    /// - Parameters:
    ///   - background: The options of the background session.
    ///   - options: The options of the ordinary one.
    /// - Returns: The value for `SessionConfiguration.transport`, for any number of sessions.
    public static func urlSession(
        background: SystemBackground,
        _ options: SystemTransportOptions = SystemTransportOptions()
    ) -> TransportOverride {
        TransportOverride(usesSystemSettings: true) {
            SystemTransport(
                options,
                background: BackgroundRegistry.shared.session(background),
                sendsCredentials: background.sendsCredentials
            )
        }
    }
}
