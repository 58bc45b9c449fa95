// SPDX-License-Identifier: Apache-2.0
/// The head of a final response, as reported by events.
public struct ReceivedResponse: Sendable {
    /// The status code.
    public var status: Int
    /// The header fields.
    public var fields: HeaderFields
    /// The length of the whole file, or `nil` if unknown.
    public var expected: Int64?
    /// The path of the file, or empty for a stream.
    public var path: String
    /// The number of bytes already present from an earlier run.
    public var resumedFrom: Int64

    /// Creates the information.
    public init(status: Int, fields: HeaderFields, expected: Int64?, path: String, resumedFrom: Int64) {
        self.status = status
        self.fields = fields
        self.expected = expected
        self.path = path
        self.resumedFrom = resumedFrom
    }
}
