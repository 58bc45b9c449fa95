// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// Runs a call and returns the storage error it throws.
func failure(_ body: () throws -> Void) -> StorageError? {
    do {
        try body()
        return nil
    } catch {
        return error as? StorageError
    }
}
