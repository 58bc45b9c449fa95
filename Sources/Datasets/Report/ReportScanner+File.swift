// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import TransferCore

extension ReportScanner {
    /// Reads the complete lines of a report.
    ///
    /// - Parameters:
    ///   - file: The open report.
    ///   - path: Its path, for messages.
    ///   - take: Called with each line's entry.
    /// - Returns: The position after the last complete line, and the length of the file.
    /// - Throws: `StorageError` if reading fails, or a line is not one of a report.
    @discardableResult
    static func scan(
        _ file: FileDescriptor,
        path: String,
        _ take: (Entry) -> Void
    ) throws(StorageError) -> (end: Int64, length: Int64) {
        var lines = LineSplitter(limit: 2 * TableParser.rowLimit)
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var offset: Int64 = 0
        var end: Int64 = 0
        while true {
            let count = buffer.withUnsafeMutableBytes { file.read(into: $0, at: offset) }
            guard count >= 0 else {
                throw StorageError(errno: Int32(-count), otherwise: .inputOutput, "cannot read the report", path)
            }
            if count == 0 { return (end, offset) }
            let chunk = buffer[..<count]
            try lines.split(chunk) { (line, number) throws(StorageError) in
                guard case .text(let text) = line, let entry = Self.entry(text) else {
                    throw StorageError(
                        .badJournal,
                        "line \(number) of '\(path)' is not a line of a report; remove the line, or name another report"
                    )
                }
                take(entry)
            }
            if let feed = chunk.lastIndex(of: 0x0A) { end = offset + Int64(feed) + 1 }
            offset += Int64(count)
        }
    }
}
