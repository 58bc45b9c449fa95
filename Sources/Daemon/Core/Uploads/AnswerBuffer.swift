// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// Buffers the response body of a background session's upload until it is stored with the upload's end.
final class AnswerBuffer: AnswerReceiver {
    /// The maximum number of bytes; they are stored in the daemon's database.
    static let most = 1 << 20

    private let state = Mutex<[UInt8]>([])

    var bytes: [UInt8] { self.state.withLock { $0 } }

    func take(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure) {
        let isTooLarge = self.state.withLock { state in
            guard state.count + bytes.count <= Self.most else { return true }
            state.append(contentsOf: bytes)
            return false
        }
        guard isTooLarge else { return }
        throw TransferFailure(
            .tooLarge,
            "the server accepted the upload, but its response has more than \(Self.most) bytes",
            remedy: "do not send it again; check the result on the server"
        )
    }

    func beginAnew() { self.state.withLock { $0 = [] } }
}
