// SPDX-License-Identifier: Apache-2.0
import Control
import Files
import Platform
import Receiver
import TransferCore

/// The place of the links of a run.
enum ServeLinks {
    /// The directory with the links of all receivers, in the state directory.
    static func directory(
        environment: (String) -> String? = StateDirectory.environment
    ) throws(ControlError) -> String {
        let state = try StateDirectory(nil, environment: environment)
        try state.make()
        return state.path + "/links"
    }

    /// The file for the links of a run: one per served directory, or per address if none is served.
    ///
    /// - Returns: The path, or `nil` if links end with the run: they would not work later because the port differs, or
    ///   nothing can be stored.
    static func place(
        _ configuration: ReceiverConfiguration,
        environment: (String) -> String? = StateDirectory.environment
    ) -> (path: String?, warnings: [String]) {
        let key: String
        if let directory = configuration.directory {
            guard let real = realpath(directory, nil) else { return (nil, []) }
            defer { free(real) }
            key = String(cString: real)
        } else {
            guard configuration.listen.port != 0 else { return (nil, []) }
            key = "\(configuration.listen)"
        }
        let wantsLinks = !configuration.shares.isEmpty || configuration.sharesUploads
        do throws(ControlError) {
            let directory = try self.directory(environment: environment)
            guard mkdir(directory, 0o700) == 0 || errno == EEXIST, access(directory, W_OK | X_OK) == 0 else {
                let reason = String(cString: strerror(errno))
                throw ControlError(.storage, "cannot write in '\(directory)': \(reason)")
            }
            var digest = RunningDigest(.sha256)
            Array(key.utf8).withUnsafeBytes { digest.update($0) }
            return ("\(directory)/\(Hexadecimal.encode(digest.finalized().prefix(8)))\(StoredLinks.suffix)", [])
        } catch {
            let warning = "links are not stored and end with this run: \(DisplayText.clean(error.description))"
            return (nil, wantsLinks ? [warning] : [])
        }
    }
}
