// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import TransferCore

/// A report that is open, locked and read, with its origin checked.
struct ReportOpening: ~Copyable {
    let id: String
    /// The rows that it has.
    let contents: ReportFile.Contents
    private let file: ReportFile

    /// Opens or creates a report.
    ///
    /// - Parameters:
    ///   - path: The report.
    ///   - terms: What must be equal for it to be continued.
    /// - Throws: ``DatasetError``.
    init(_ path: String, terms: [JSON.Member]) throws(DatasetError) {
        var file = try ReportFile(opening: path)
        let contents = try file.read()
        let (id, isNew) = try Self.origin(of: path, terms, hasLines: !file.isEmpty)
        do throws(StorageError) { if !isNew { try file.syncEarlierLines() } } catch { throw .storage(error) }
        self.id = id
        self.contents = contents
        self.file = file
    }

    consuming func takeFile() -> ReportFile { self.file }

    private static func origin(
        of path: String,
        _ terms: [JSON.Member],
        hasLines: Bool
    ) throws(DatasetError) -> (id: String, isNew: Bool) {
        let found: ReportOrigin?
        do throws(StorageError) { found = try ReportOrigin.read(of: path) } catch { throw .storage(error) }
        if let found {
            guard let difference = found.difference(from: terms) else {
                // Before the first line the names must be durable: a process that gave them, and was killed, may not have
                // come to it.
                if !hasLines { try Self.write(found, of: path) }
                return (found.id, false)
            }
            if hasLines { throw .otherReport(Self.message(path, difference)) }
        } else if hasLines {
            throw .otherReport(
                "'\(path)' cannot be continued without '\(ReportOrigin.path(of: path))'; name another report"
            )
        }
        let origin = ReportOrigin(id: Self.newID(), terms: terms)
        try Self.write(origin, of: path)
        return (origin.id, true)
    }

    private static func write(_ origin: ReportOrigin, of path: String) throws(DatasetError) {
        do throws(StorageError) { try origin.write(of: path) } catch { throw .storage(error) }
    }

    private static func message(
        _ path: String,
        _ difference: (name: String, recorded: JSON, given: JSON)
    ) -> String {
        "'\(path)' was begun with another \(difference.name) (\(difference.recorded.text), now \(difference.given.text)); "
            + "repeat the command as it was, or name another report"
    }

    private static func newID() -> String {
        Hexadecimal.encode(SystemRandom.bytes(12))
    }
}
