// SPDX-License-Identifier: Apache-2.0
extension TransferTask: CustomDebugStringConvertible {
    /// The kind, the number, the URL without its query, the state and the bytes, for a log: what `print(task)` shows.
    ///
    /// ``description`` is the program's own text.
    public final var debugDescription: String {
        let kind =
            switch self {
            case is DataTask: "data task"
            case is UploadTask: "upload task"
            default: "download task"
            }
        let (done, total) =
            self is UploadTask
            ? (self.bytesSent, self.bytesExpectedToSend) : (self.bytesReceived, self.bytesExpected)
        var text = "\(kind) \(self.id) of \(self.request.url.redacted): \(self.state), \(done)"
        text += total.map { " of \($0) bytes" } ?? " bytes"
        if let reason = self.waitReason { text += "; \(reason)" }
        if let error = self.error { text += "; \(error)" }
        return text
    }
}
