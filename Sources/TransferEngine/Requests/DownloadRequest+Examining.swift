// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

extension DownloadRequest {
    /// Makes the request check only whether the file is available: it fetches no content and creates no file.
    ///
    /// - Source: aria2c(1), `--dry-run`; aria2 requests HEAD.
    package mutating func onlyExamine() {
        self.method = "HEAD"
        self.body = nil
        self.expected = []
        self.options.destination = .memory(NoBytes())
        self.options.durable = false
    }
}

/// Receives the empty body of a response to HEAD.
private final class NoBytes: BodyReceiver {
    var keepsBytes: Bool { false }

    func receive(
        _ bytes: UnsafeRawBufferPointer,
        resume: @escaping @Sendable () -> Void
    ) throws(TransferFailure) -> Bool { true }

    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool { false }
}
