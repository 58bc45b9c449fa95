// SPDX-License-Identifier: Apache-2.0
package import Control
package import Logging
internal import Files
package import TransferCore

internal import Platform

/// The settings with which a daemon is started.
package struct DaemonSettings: Sendable {
    /// The TCP address of the RPC.
    package enum Listening: Sendable, Hashable {
        /// No TCP listener.
        case none
        /// An address; unless it is the default, the daemon fails if it cannot listen on it.
        case tcp(host: String, port: Int, isDefault: Bool)

        /// `127.0.0.1:6800`; if the port is in use, the daemon runs without TCP.
        package static let standard = Listening.tcp(host: "127.0.0.1", port: 6800, isDefault: true)

        /// Parses `ADDRESS:PORT`, `[ADDRESS]:PORT`, `PORT` or `none`.
        ///
        /// - Throws: ``ControlError`` with `badParameter`.
        package init(_ text: String) throws(ControlError) {
            if text == "none" {
                self = .none
                return
            }
            let separator = text.lastIndex(of: ":")
            var host = separator.map { String(text[..<$0]) } ?? "127.0.0.1"
            let port = UInt16(separator.map { text[text.index(after: $0)...] } ?? text[...])
            if host.hasPrefix("["), host.hasSuffix("]") {
                host = String(host.dropFirst().dropLast())
            } else if host.contains(":") {
                host = ""
            }
            guard let port, !host.isEmpty else {
                throw ControlError(
                    .badParameter,
                    "--listen '\(text)' is not an address with a port",
                    remedy: "write 127.0.0.1:6800, [::1]:6800, 6800, or none"
                )
            }
            self = .tcp(host: host, port: Int(port), isDefault: false)
        }

        /// The address if other machines can reach it; `nil` if only this one can, or nothing listens.
        package var exposedAddress: String? {
            guard case .tcp(let host, let port, _) = self,
                !Origin(scheme: .http, host: host.lowercased(), port: port).isLoopback
            else { return nil }
            return "\(ServerConfiguration.Listen(host: host, port: port))"
        }
    }

    /// The location of the token for the RPC over TCP.
    package enum Secret: Sendable {
        /// The state directory's own file, which is created if it is missing.
        case own
        /// A file with mode 0600.
        case file(String)
        /// The content that can be read from an open descriptor.
        case descriptor(Int32)
        /// The token itself.
        case token(String)
    }

    /// The directory of the database, the socket and the token.
    package var state: StateDirectory
    /// The directory for downloads that name none; an absolute path.
    package var directory: String
    /// Additional directories in which TCP clients may store files; absolute paths.
    package var allowedDirectories: [String] = []
    /// The addresses to which no request is sent for TCP clients.
    package var deniedAddresses = AddressRule.Refused.metadata
    /// The addresses that transfers may use although they are denied.
    package var allowedAddresses = ProxyExceptions()
    /// The address of the RPC.
    package var listening = Listening.standard
    /// The location of the token.
    package var secret = Secret.own
    /// Origins whose web pages may use the RPC.
    package var allowedOrigins: [String] = []
    /// Additional host names to accept in `Host`.
    package var allowedHosts: [String] = []
    /// Whether WebSockets on loopback receive notifications without a token, as from aria2.
    package var allowsOpenNotifications = false
    /// Settings of the queue, unless settings were stored while it ran.
    package var options = TransferOptions()
    /// The commands that events run.
    package var hooks = HookCommands()
    /// The options to remember for later starts when the daemon is ready; `nil` to change nothing.
    package var optionsToRemember: RememberedOptions?
    /// The remembered options from which these settings were made; `nil` if they are from a command line.
    package var rememberedOptions: RememberedOptions?
    /// Whether the directory was given as an option.
    package var isDirectoryGiven = false
    /// The minimum level of logged messages.
    package var logLevel = Logger.Level.info
    /// Whether a client started the daemon: standard error is the log file, and a second daemon ends without an error.
    package var isDetached = false

    /// Creates settings with the defaults.
    ///
    /// - Parameters:
    ///   - state: The state directory.
    ///   - directory: The absolute path of the directory for files, or `nil` for the user's `Downloads` if it exists,
    ///     else the home directory.
    package init(state: StateDirectory, directory: String? = nil) {
        self.state = state
        self.isDirectoryGiven = directory != nil
        self.directory =
            directory
            ?? DownloadDirectory.find(
                state: state.path,
                environment: StateDirectory.environment,
                read: { path in
                    let bytes: [UInt8]? = (try? AtomicFile.read(path, atMost: 1 << 16)) ?? nil
                    return bytes.map { String(decoding: $0, as: UTF8.self) }
                }
            )
    }

    /// Reads the token.
    ///
    /// - Throws: ``ControlError`` if it cannot be read, or is not a valid token.
    package func token() throws(ControlError) -> String {
        switch self.secret {
        case .own: try SecretFile.readOrMake(self.state.secretPath)
        case .file(let path): try SecretFile.read(path)
        case .descriptor(let descriptor): try SecretFile.read(descriptor)
        case .token(let token): try SecretFile.token(token.utf8, from: "--rpc-secret")
        }
    }
}
