// SPDX-License-Identifier: Apache-2.0
import Control
internal import TransferCore

/// The exit status of a run, as defined by aria2.
enum ExitStatus {
    /// All files are complete.
    static let success = Int32(Aria2ExitStatus.success.number)
    /// Some transfers were not finished.
    static let unfinished = Int32(Aria2ExitStatus.unfinished.number)
    /// Output could not be written.
    static let fileIO = Int32(Aria2ExitStatus(.fileIO).number)
    /// No space on the device.
    static let noSpace = Int32(Aria2ExitStatus(.noSpace).number)
    /// A bad option or argument.
    static let usage = Int32(Aria2ExitStatus(.badOption).number)
    /// Rows of a table failed; the report has them (`EX_DATAERR` of sysexits.h).
    static let rowsFailed: Int32 = 65
    /// Another run writes the report (`EX_CANTCREAT`).
    static let reportIsBusy: Int32 = 73
    /// The run was ended by a signal.
    static let interrupted: Int32 = 130

    /// Returns the status of a run by ``ExitOrder``.
    ///
    /// - Parameters:
    ///   - interrupted: Whether a signal ended the run.
    ///   - failures: The status of its failures, 0 without one.
    ///   - outputBroken: Whether output could not be written.
    ///   - unfinished: The number of transfers that did not end.
    /// - Returns: The exit status.
    static func choose(interrupted: Bool, failures: Int32, outputBroken: Bool = false, unfinished: Int) -> Int32 {
        ExitOrder.status(of: [
            interrupted ? Self.interrupted : Self.success, failures, outputBroken ? Self.fileIO : Self.success,
            unfinished > 0 ? Self.unfinished : Self.success,
        ])
    }
}
