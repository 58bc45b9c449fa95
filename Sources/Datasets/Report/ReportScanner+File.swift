// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import TransferCore

extension ReportScanner {
    /// Reads the complete lines of a report, up to the first one that a loss of power has damaged.
    ///
    /// - Parameters:
    ///   - file: The open report.
    ///   - path: Its path, for messages.
    ///   - take: Called with each line's entry, and the line.
    /// - Returns: The position after the last complete line, and the number of bytes that were read: more if anything follows.
    /// - Throws: `StorageError` if reading fails, or a line is not one of a report.
    @discardableResult
    static func scan(
        _ file: FileDescriptor,
        path: String,
        _ take: (Entry, ArraySlice<UInt8>) -> Void
    ) throws(StorageError) -> (end: Int64, length: Int64) {
        var lines = LineSplitter(limit: 2 * TableParser.rowLimit)
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var offset: Int64 = 0
        var end: Int64 = 0
        while true {
            let count = buffer.withUnsafeMutableBytes { file.read(into: $0, at: offset) }
            guard count >= 0 else {
                throw StorageError(errno: Int32(-count), otherwise: .inputOutput, "cannot read the report", path)
            }
            if count == 0 { return (end, offset) }
            // Unsynced appended lines can be zeros after a loss of power. A sync makes all earlier lines
            // durable, so none that follows was.
            let zero = buffer[..<count].firstIndex(of: 0)
            let chunk = buffer[..<(zero ?? count)]
            try lines.split(chunk) { (line, number) throws(StorageError) in
                guard case .text(let text) = line, let entry = Self.entry(text) else {
                    throw StorageError(
                        .badJournal,
                        "line \(number) of '\(path)' is not a line of a report; remove the line, or name another report"
                    )
                }
                take(entry, text)
            }
            if let feed = chunk.lastIndex(of: 0x0A) { end = offset + Int64(feed) + 1 }
            offset += Int64(count)
            if zero != nil { return (end, offset) }
        }
    }
}
