// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore

extension RPCContext {
    /// Makes `dir` an absolute path, and checks that a network caller's paths are inside the allowed roots.
    ///
    /// - Parameters:
    ///   - options: The options.
    ///   - directory: The file's directory if the options do not name one.
    /// - Returns: The options with an absolute directory.
    /// - Throws: `forbidden`, `badParameter`.
    func confine(_ options: TransferOptions, directory: String) throws(ControlError) -> TransferOptions {
        var options = options
        if let dir = options[.dir], !dir.hasPrefix("/") {
            // Relative to the default directory: the daemon's working directory is meaningless to a caller.
            options[.dir] = Self.join(self.directory, dir)
        }
        if let session = options[.saveSession], !session.isEmpty, !session.hasPrefix("/") {
            options[.saveSession] = Self.join(self.directory, session)
        }
        guard !self.caller.isLocal else { return options }
        let roots = self.allowedRoots
        if let dir = options[.dir] { try roots.check(dir, for: "dir") }
        if let out = options[.out] {
            if out.hasPrefix("/") { try roots.check(out, for: "out") }
            try roots.check(Self.join(options[.dir] ?? directory, out), for: "out")
        }
        if let session = options[.saveSession], !session.isEmpty { try roots.check(session, for: "save-session") }
        if let cookies = options[.loadCookies] {
            guard cookies.hasPrefix("/") else {
                throw ControlError(
                    .badParameter,
                    "'--load-cookies': \"\(cookies.prefix(256))\" is not an absolute path",
                    remedy: "give an absolute path"
                )
            }
            try roots.check(cookies, for: "load-cookies")
        }
        return options
    }

    /// Denies addresses to a transfer whose servers or proxies a network caller has chosen.
    ///
    /// - Parameters:
    ///   - options: The options of a new transfer, or those to change.
    ///   - old: The options of the transfer that is changed.
    func denyAddresses(_ options: inout TransferOptions, changing old: TransferOptions? = nil) {
        guard !self.caller.isLocal else { return }
        var denied = self.configuration.deniedAddresses
        for known in [options, old ?? TransferOptions(), self.service.globalOptions] {
            let refused = known[.deniedAddresses].flatMap { AddressRule.Refused(rawValue: $0) }
            denied = .stricter(denied, refused ?? .none)
        }
        options[.deniedAddresses] = denied.rawValue
    }

    /// Checks that the files of a network caller's upload are inside the allowed roots, and can be read now.
    ///
    /// - Throws: `forbidden`, `badParameter`.
    func confine(_ upload: UploadSource) throws(ControlError) {
        guard !self.caller.isLocal else { return }
        let roots = self.allowedRoots
        for path in upload.files {
            try roots.check(path, for: "file")
            guard let problem = PosixPath.problem(reading: path) else { continue }
            throw ControlError(
                .badParameter,
                "\"\(path.prefix(256))\" \(problem)",
                remedy: "give the path of a file on the daemon's machine that the daemon may read"
            )
        }
    }

    /// The default directory is always allowed.
    private var allowedRoots: AllowedRoots {
        AllowedRoots(
            roots: self.configuration.allowedRoots + [self.directory],
            stateDirectory: self.configuration.stateDirectory
        )
    }

    private static func join(_ directory: String, _ name: String) -> String {
        directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
    }
}

extension OptionName {
    /// Whether it may change the addresses to which a transfer's requests are sent.
    var choosesAddress: Bool {
        switch self {
        case .allProxy, .httpProxy, .httpsProxy, .noProxy, .deniedAddresses: true
        default: false
        }
    }
}
