// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore

/// The reason why a transfer cannot be staged on an engine.
struct StagingFailure: Error {
    var failure: TransferRecord.Failure

    init(_ code: TransferFailure.Code, _ message: String, remedy: String = "") {
        self.failure = TransferRecord.Failure(code, message, remedy: remedy)
    }
}
