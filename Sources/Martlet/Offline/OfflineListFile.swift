internal import FileStorage
internal import FoundationEssentials
internal import TransferEngine

/// The file of a list: read once, then always replaced as a whole.
struct OfflineListFile: Sendable {
    private struct Version: Codable { var version: Int }

    private struct Contents: Codable {
        var version: Int
        var items: [OfflineRecord]
    }

    private static let version = 1
    private static let longest = 1 << 28

    let path: String

    /// Reads the list.
    ///
    /// - Returns: Its downloads, or `nil` if the file does not exist.
    /// - Throws: ``TransferError`` with `listDamaged` after renaming the file; with `listTooNew` or `file`, leaving it
    ///   unchanged.
    func read() throws(TransferError) -> [OfflineRecord]? {
        let bytes: [UInt8]
        do throws(StorageError) {
            guard let read = try AtomicFile.read(self.path, atMost: Self.longest) else { return nil }
            bytes = read
        } catch {
            throw TransferError(TransferFailure(error))
        }
        let data = Data(bytes)
        guard let version = try? JSONDecoder().decode(Version.self, from: data).version, version > 0 else {
            throw self.setAside("it is no list")
        }
        guard version <= Self.version else {
            throw TransferError(
                .listTooNew,
                "the list '\(self.path)' has version \(version), and this program knows \(Self.version)",
                remedy: "use the program that wrote it, or name another list"
            )
        }
        guard let items = try? JSONDecoder().decode(Contents.self, from: data).items else {
            throw self.setAside("its items cannot be read")
        }
        for item in items {
            let request = Result { () throws(TransferError) in try item.request.request() }
            guard item.isPlausible, case .success = request else {
                throw self.setAside("the item '\(item.id.prefix(40))' contradicts itself")
            }
        }
        guard Set(items.map(\.id)).count == items.count else { throw self.setAside("two items have one id") }
        return items
    }

    /// Replaces the list; if this fails, the old one is unchanged.
    ///
    /// - Throws: ``TransferError`` with `noSpace` or `file`.
    func write(_ items: [OfflineRecord]) throws(TransferError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(Contents(version: Self.version, items: items)) else {
            throw TransferError(.unknown, "the list '\(self.path)' cannot be encoded")
        }
        do throws(StorageError) {
            try AtomicFile.replace(self.path, with: Array(data))
        } catch {
            throw TransferError(TransferFailure(error))
        }
    }

    /// Renames a damaged list, so that it is not overwritten.
    private func setAside(_ reason: String) -> TransferError {
        for number in 0..<1000 {
            let name = self.path + (number == 0 ? ".damaged" : ".damaged.\(number)")
            do throws(StorageError) {
                try FileMover.move(self.path, to: name, replacing: false)
            } catch {
                if error.code == .exists { continue }
                return TransferError(
                    .listDamaged,
                    "the list '\(self.path)' is damaged (\(reason)) and stays where it is: \(error.message)",
                    remedy: "move it away"
                )
            }
            return TransferError(
                .listDamaged,
                "the list '\(self.path)' is damaged (\(reason)); it is now '\(name)'",
                remedy: "mend it and move it back, or open the list again: it will be empty",
                isRetryable: true
            )
        }
        return TransferError(
            .listDamaged,
            "the list '\(self.path)' is damaged (\(reason)), and so were a thousand before it",
            remedy: "move them away"
        )
    }
}
