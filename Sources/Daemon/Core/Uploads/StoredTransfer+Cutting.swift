// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore
internal import TransferCore

extension StoredTransfer {
    /// Whether it may resume or restart automatically: its method is idempotent (RFC 9110 §9.2.2), or its owner permits it.
    var mayBeCut: Bool {
        let method = self.options[.method].flatMap { $0.isEmpty ? nil : $0 }
        guard let upload = self.upload else {
            return method.map { RequestMethod.isIdempotent($0) || self.mayBeRepeated } ?? true
        }
        if let method { return RequestMethod.isIdempotent(method) || self.mayBeRepeated }
        return !upload.isForm || self.mayBeRepeated
    }

    private var mayBeRepeated: Bool { self.options[.mayBeRepeated] == "true" }
}
