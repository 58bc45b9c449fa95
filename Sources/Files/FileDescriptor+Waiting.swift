// SPDX-License-Identifier: Apache-2.0
import Platform
package import TransferCore

extension FileDescriptor {
    /// The maximum time to wait for another process that writes, in milliseconds.
    private static let patience = 5000

    /// Locks the file; waits for at most five seconds while another open file has the lock.
    ///
    /// - Parameter path: The path of what is locked, for the error.
    /// - Throws: `StorageError` with `inputOutput` if it stays locked.
    package func waitForLock(of path: String) throws(StorageError) {
        var waited = 0
        while self.lock() != 0 {
            guard waited < Self.patience else {
                throw StorageError(.inputOutput, "'\(path)' is locked by another process; end it and try again")
            }
            FileCalls.sleep(microseconds: 2000)
            waited += 2
        }
    }
}
