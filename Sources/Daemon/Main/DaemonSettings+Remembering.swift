// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Files
internal import Logging
internal import Platform
internal import TransferCore

/// Settings from remembered options, and the remembering.
extension DaemonSettings {
    /// Checks that the directories of remembered options exist: one that is gone may be a disk that is not mounted.
    ///
    /// - Throws: ``ControlError`` with `notFound`.
    func checkRemembered() throws(ControlError) {
        guard self.rememberedOptions != nil, self.isDirectoryGiven, !Self.isDirectory(self.directory) else { return }
        throw RememberedOptions.unusable(self.state, .notFound, "the directory '\(self.directory)' of --dir is gone")
    }

    /// An error of the start, which names the remembered options if the settings are from them.
    func explained(_ error: ControlError) -> ControlError {
        guard self.rememberedOptions != nil else { return error }
        return RememberedOptions.unusable(self.state, error.code, error.message)
    }

    /// Logs what the user should know about these settings before the daemon is reachable.
    func announce(to logger: Logger) {
        if let remembered = self.rememberedOptions {
            logger.notice(
                "starting with the options of the last start",
                metadata: ["file": "\(self.state.optionsPath)", "options": "\(remembered.text)"]
            )
            if remembered.hadToken {
                logger.warning(
                    "the token that the last start had is not remembered",
                    metadata: [
                        "remedy": "use the token in \(self.state.secretPath), or give --rpc-secret-file FILE once"
                    ]
                )
            }
            for path in self.allowedDirectories where !Self.isDirectory(path) {
                logger.warning("a directory of --allow-dir is gone", metadata: ["directory": "\(path)"])
            }
        }
        if let address = self.listening.exposedAddress {
            logger.warning("other machines can reach the RPC", metadata: ["address": "\(address)"])
        }
        if self.allowedOrigins.contains("*") {
            logger.warning("web pages of every origin can call the RPC, if they have the token")
        }
    }

    /// Remembers the options for later starts without options; called when the addresses are bound.
    func remember(_ logger: Logger) {
        guard let options = self.optionsToRemember else { return }
        do throws(StorageError) {
            // So that a later start can notice that it is gone.
            if self.isDirectoryGiven, !Self.isDirectory(self.directory) {
                _ = try DirectoryHandle.open(self.directory, creating: true)
            }
        } catch {
            logger.warning("the directory of --dir does not exist", metadata: ["error": "\(error.message)"])
        }
        do throws(StorageError) {
            try options.store(self.state)
        } catch {
            logger.warning("the options are not remembered for later starts", metadata: ["error": "\(error.message)"])
        }
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

extension RememberedOptions {
    /// The options as words for a shell.
    package var text: String { self.arguments.map(ShellWord.quoted).joined(separator: " ") }
}
