// SPDX-License-Identifier: Apache-2.0
import Control
internal import TransferCore
import TransferEngine

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

    /// Chooses the status: interruption first, then the last failure, then failed output, then unfinished transfers.
    static func choose(
        interrupted: Bool,
        lastFailure: TransferFailure.Code?,
        outputBroken: Bool = false,
        unfinished: Int
    ) -> Int32 {
        if interrupted { return Self.interrupted }
        if let lastFailure { return Int32(Aria2ExitStatus(lastFailure).number) }
        if outputBroken { return Self.fileIO }
        return unfinished > 0 ? Self.unfinished : Self.success
    }
}
