// SPDX-License-Identifier: Apache-2.0
package import Control
internal import FileStorage
internal import Files
internal import Platform
internal import TransferCore

/// The options of a daemon's start, as its state directory remembers them for later starts without options.
///
/// They are command-line arguments with absolute paths. A token is never among them.
package struct RememberedOptions: Sendable, Hashable {
    /// The version of the file's format.
    static let version: Int64 = 1
    /// The maximum size of the file in bytes; the arguments of a process are shorter.
    private static let limit = 4 << 20

    /// The arguments, such as `--dir=/srv/files`.
    package var arguments: [String]
    /// Whether the daemon had a token from its arguments or a descriptor, which is not stored.
    package var hadToken: Bool

    package init(_ arguments: [String], hadToken: Bool = false) {
        self.arguments = arguments
        self.hadToken = hadToken
    }

    /// Whether there is nothing to remember.
    package var isEmpty: Bool { self.arguments.isEmpty && !self.hadToken }

    /// The options as a line of JSON.
    var bytes: [UInt8] {
        let json: JSON = [
            "version": .integer(Self.version), "arguments": .array(self.arguments.map { .string($0) }),
            "hadToken": .bool(self.hadToken),
        ]
        return Array((json.text + "\n").utf8)
    }

    /// Parses the content of a file; `nil` if it is not such a content, or of a later version.
    init?(parsing bytes: [UInt8]) {
        guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version,
            let values = json["arguments"]?.array, let hadToken = json["hadToken"]?.bool
        else { return nil }
        let arguments = values.compactMap(\.string)
        guard arguments.count == values.count, !arguments.contains(where: { $0.utf8.contains(0) }) else { return nil }
        self.init(arguments, hadToken: hadToken)
    }

    /// Reads the options of a state directory; `nil` if it remembers none.
    ///
    /// - Throws: ``ControlError`` with `forbidden` if another user may have written them, because they name commands;
    ///   `badParameter` if the file is damaged or of a later version; `storage` if it cannot be read.
    package static func read(_ state: StateDirectory) throws(ControlError) -> RememberedOptions? {
        let path = state.optionsPath
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw Self.unusable(state, .storage, String(cString: strerror(errno)))
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Self.unusable(state, .forbidden, "it is not a regular file")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & 0o022 == 0 else {
            throw Self.unusable(state, .forbidden, "other users may have written it")
        }
        let bytes: [UInt8]?
        do throws(StorageError) {
            bytes = try AtomicFile.read(path, atMost: Self.limit)
        } catch {
            throw Self.unusable(state, .storage, error.message)
        }
        guard let bytes else { return nil }
        guard let options = RememberedOptions(parsing: bytes) else {
            throw Self.unusable(state, .badParameter, "it is damaged, or was written by a later version")
        }
        return options.isEmpty ? nil : options
    }

    /// Stores the options, or removes the file if there are none; does nothing if they are stored already.
    ///
    /// - Throws: `StorageError`; the earlier options are unchanged then.
    func store(_ state: StateDirectory) throws(StorageError) {
        guard !self.isEmpty else {
            _ = try Self.remove(state)
            return
        }
        let bytes = self.bytes
        if let stored = try? AtomicFile.read(state.optionsPath, atMost: Self.limit), stored == bytes { return }
        try AtomicFile.replace(state.optionsPath, with: bytes)
    }

    /// Forgets the options of a state directory.
    ///
    /// - Returns: Whether it remembered any.
    /// - Throws: ``ControlError`` with `storage` if the file cannot be removed.
    package static func forget(_ state: StateDirectory) throws(ControlError) -> Bool {
        do throws(StorageError) {
            return try self.remove(state)
        } catch {
            throw ControlError(.storage, error.message, remedy: "remove '\(state.optionsPath)' yourself")
        }
    }

    private static func remove(_ state: StateDirectory) throws(StorageError) -> Bool {
        if unlink(state.optionsPath) == 0 {
            try AtomicFile.syncDirectory(of: state.optionsPath)
            return true
        }
        guard errno != ENOENT, errno != ENOTDIR else { return false }
        throw StorageError(errno: errno, otherwise: .inputOutput, "cannot remove", state.optionsPath)
    }

    /// The error for remembered options with which a daemon cannot start.
    ///
    /// - Parameters:
    ///   - state: The state directory.
    ///   - code: The kind of error.
    ///   - reason: Why they cannot be used.
    /// - Returns: An error that names the file and how to forget it.
    package static func unusable(
        _ state: StateDirectory,
        _ code: ControlError.Code,
        _ reason: String
    ) -> ControlError {
        ControlError(
            code,
            "cannot start with the options that are remembered in '\(state.optionsPath)': \(reason)",
            remedy: "forget them with martlet daemon\(state.option) --forget-options, or replace them: martlet daemon"
                + "\(state.option) OPTIONS"
        )
    }
}
