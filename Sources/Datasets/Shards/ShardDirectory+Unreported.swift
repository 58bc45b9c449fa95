// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Files
internal import Platform
internal import TransferCore

/// The remains of a killed run, or of a loss of power, among the shards.
package struct ShardLeftovers: Sendable, Equatable {
    /// The new path of a shard that no report names, or `nil`.
    package var aside: String?
    /// The path of a shard whose last samples no report named, and which were removed; or `nil`.
    package var shortened: String?
}

extension ShardDirectory {
    /// Removes the samples at the end of the last shard that its report does not name.
    ///
    /// A shard has its name before its rows are durable in the report. If the power fails meanwhile, the last of them can
    /// be lost: they are fetched again, and would be in two shards. Samples before one that is named are never removed.
    ///
    /// - Parameter report: The report of this run.
    /// - Returns: The path of the shard, or `nil` if the report names all of its samples.
    /// - Throws: ``StorageError`` if the report cannot be read, or the shard not be shortened.
    func removeUnreportedSamples(_ report: ShardReport) throws(StorageError) -> String? {
        guard let last = report.lastSample, ShardName.number(ofFinal: last.shard) != nil else { return nil }
        let path = self.handle.path(last.shard)
        let file: FileDescriptor
        switch self.handle.open(last.shard, O_RDWR | O_NONBLOCK) {
        case .success(let opened): file = opened
        // The user may have moved it away, or have made it read-only.
        case .failure(let error) where [ENOENT, EACCES, EPERM, EROFS, ELOOP, EISDIR].contains(error.number): return nil
        case .failure(let error):
            throw StorageError(errno: error.number, otherwise: .cannotOpen, "cannot open", path)
        }
        let status = try file.requiredStatus(of: path)
        let archive = Int64(status.st_size) - Int64(TarFormat.end.count)
        guard status.st_mode & S_IFMT == S_IFREG,
            let end = TarReader.end(ofMemberAt: last.end, in: file), end < archive,
            // The lines of a report that was sorted are in another order.
            let end = try Self.end(of: last.shard, report.path, file), end < archive
        else { return nil }
        // First the end of the archive, durably: readers stop there, and the next run removes the rest if this one is killed,
        // or the machine loses its power.
        var number = TarFormat.end.withUnsafeBytes { file.write($0, at: end) }
        if number == 0 { number = file.sync() }
        if number == 0 { number = file.truncate(end + Int64(TarFormat.end.count)) }
        if number == 0 { number = file.sync() }
        guard number == 0 else { throw StorageError(errno: number, otherwise: .inputOutput, "cannot shorten", path) }
        return path
    }

    /// The end of the last sample of a shard that a report names; `nil` if one of them is not there.
    private static func end(
        of shard: String,
        _ report: String,
        _ file: FileDescriptor
    ) throws(StorageError) -> Int64? {
        var raw: Int32
        repeat { raw = FileCalls.open(report, O_RDONLY | O_CLOEXEC) } while raw < 0 && errno == EINTR
        guard raw >= 0 else {
            throw StorageError(errno: errno, otherwise: .cannotOpen, "cannot open the report", report)
        }
        var last: Int64 = 0
        try ReportScanner.scan(FileDescriptor(raw), path: report) { entry, line in
            guard entry.shard == shard, let sample = ReportedSample(line) else { return }
            last = max(last, sample.end)
        }
        return TarReader.end(ofMemberAt: last, in: file)
    }
}
