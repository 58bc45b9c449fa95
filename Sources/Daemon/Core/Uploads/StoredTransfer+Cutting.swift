// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore

extension StoredTransfer {
    /// Whether it may resume or restart automatically: not an upload by a method other than PUT (RFC 9110 §9.2.2).
    var mayBeCut: Bool {
        guard let upload = self.upload else { return true }
        if let method = self.options[.method], !method.isEmpty { return method == "PUT" }
        return !upload.isForm
    }
}
