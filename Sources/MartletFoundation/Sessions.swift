// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import Martlet

extension SessionConfiguration {
    /// The directory for downloads without a destination; see ``directory``.
    ///
    /// These downloads fail with `file` for any URL other than a file URL.
    public var directoryURL: URL {
        get { URL(fileURLWithPath: self.directory, isDirectory: true) }
        set { self.directory = newValue.filePath }
    }

    /// The file URL of the executable `martlet` for background sessions; see ``daemonPath``.
    public var daemonURL: URL? {
        get { self.daemonPath.map { URL(fileURLWithPath: $0) } }
        set { self.daemonPath = newValue?.filePath }
    }

    /// A configuration for transfers that continue after the program has ended; see
    /// ``background(identifier:stateDirectory:)``.
    ///
    /// - Parameters:
    ///   - identifier: The session's name.
    ///   - stateDirectory: The file URL of the daemon's directory.
    /// - Returns: The configuration.
    public static func background(identifier: String, stateDirectory: URL) -> SessionConfiguration {
        .background(identifier: identifier, stateDirectory: stateDirectory.filePath)
    }
}

extension SessionConfiguration.ProxyChoice {
    /// One proxy for all hosts except some; see ``server(_:except:)``.
    ///
    /// - Parameters:
    ///   - url: The proxy, with its user name and password if it requires them.
    ///   - hosts: The hosts that are connected to directly, separated by commas.
    /// - Returns: The choice.
    /// - Throws: ``TransferError`` with `badConfiguration`.
    public static func server(
        _ url: URL,
        except hosts: String = ""
    ) throws(TransferError) -> SessionConfiguration.ProxyChoice {
        try .server(url.absoluteString, except: hosts)
    }
}

extension Credentials {
    /// Sets credentials for a server.
    ///
    /// - Parameters:
    ///   - credential: The credentials, or `nil` to remove them.
    ///   - url: Any URL of the server.
    ///   - realm: The realm they are for, or `nil` for every realm without separate credentials.
    /// - Throws: A `TransferError` with `badURL`.
    public mutating func set(_ credential: Credential?, for url: URL, realm: String? = nil) throws(TransferError) {
        self.set(credential, for: try HTTPURL(url), realm: realm)
    }
}

extension TLSOptions.Roots {
    /// The authorities in a PEM file, and no others.
    public static func file(_ url: URL) -> TLSOptions.Roots { .pemFile(url.filePath) }

    /// The authorities in a PEM text, and no others.
    public static func pem(_ data: Data) -> TLSOptions.Roots { .pem(Array(data)) }
}

extension TLSOptions.PEM {
    /// A PEM file.
    public static func file(_ url: URL) -> TLSOptions.PEM { .file(url.filePath) }

    /// The PEM text itself.
    public static func bytes(_ data: Data) -> TLSOptions.PEM { .bytes(Array(data)) }
}

extension TLSOptions.Pin {
    /// Creates a pin from the hash.
    ///
    /// - Parameters:
    ///   - sha256: The SHA-256 of the key's SubjectPublicKeyInfo.
    ///   - host: A host, `*.` and a name for every host below it, or `nil` for all hosts.
    /// - Throws: `SyntaxError` if the hash does not have 32 bytes.
    public init(sha256: Data, host: String? = nil) throws(SyntaxError) {
        try self.init(sha256: Array(sha256), host: host)
    }
}

extension OfflineDownloads {
    /// Opens a list, or creates a new one; see the initializer with paths.
    ///
    /// - Parameters:
    ///   - list: The file URL of the list.
    ///   - directory: The file URL of the directory of the downloaded files.
    ///   - configuration: The configuration of the downloads.
    ///   - finishedLimit: The number of finished downloads that stay in the list.
    ///   - keepsSecrets: Whether credentials in header fields and URLs are written to the list.
    ///   - observer: An observer, referenced weakly.
    ///   - context: The context in which it is called.
    /// - Throws: ``TransferError``, with `file` also for non-file URLs.
    public convenience init(
        list: URL,
        directory: URL,
        configuration: SessionConfiguration = .default,
        finishedLimit: Int = 1000,
        keepsSecrets: Bool = false,
        observer: (any OfflineDownloads.Observer)? = nil,
        on context: CallbackContext = .anyThread
    ) throws(TransferError) {
        try self.init(
            list: list.filePath,
            directory: directory.filePath,
            configuration: configuration,
            finishedLimit: finishedLimit,
            keepsSecrets: keepsSecrets,
            observer: observer,
            on: context
        )
    }
}

extension OfflineDownload {
    /// The URL of the file, complete or not.
    public var fileURL: URL { URL(fileURLWithPath: self.path) }
}
