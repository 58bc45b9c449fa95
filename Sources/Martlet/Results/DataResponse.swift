/// What a data task brought.
public struct DataResponse: Sendable {
    /// The response's head.
    public let response: HTTPResponse
    /// The body; empty where the task was made not to collect it.
    public let body: [UInt8]

    /// The status code.
    public var status: Int { self.response.status }
    /// Whether the answer to a conditional request is that the caller's copy is still right (304).
    public var isNotModified: Bool { self.response.isNotModified }
    /// The body as text; bytes that are not UTF-8 are repaired.
    public var text: String { String(decoding: self.body, as: UTF8.self) }
}
