// SPDX-License-Identifier: Apache-2.0
/// The response of a data task or an upload task.
public struct DataResponse: Sendable {
    /// The response's head.
    public let response: TransferResponse
    /// The body; empty if the task does not collect it.
    public let body: [UInt8]

    /// The status code.
    public var status: Int { self.response.status }
    /// Whether the response to a conditional request says that the caller's copy is current (304).
    public var isNotModified: Bool { self.response.isNotModified }
    /// The body as text; invalid UTF-8 is repaired.
    public var text: String { String(decoding: self.body, as: UTF8.self) }
}
