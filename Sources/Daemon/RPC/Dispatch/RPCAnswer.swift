// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// The response to one message while it is being written.
struct RPCAnswer: Sendable {
    /// UTF-8 JSON.
    private(set) var bytes: [UInt8] = []
    /// The HTTP status.
    var status = 200
    /// Whether a call had no token or a wrong one.
    var hasFailedAuthentication = false
    /// The time for which the client's tokens are not checked, or `nil` if they were.
    var refusal: Duration?
    private var isFirst = true
    private var isBatch = false

    /// Starts the response to a batch.
    mutating func beginArray() {
        self.isBatch = true
        self.bytes.append(0x5B)
    }

    /// Ends the response to a batch.
    mutating func endArray() { self.bytes.append(0x5D) }

    /// Appends the result of one call.
    mutating func append(_ item: RPCItem, _ result: Result<JSON, RPCFailure>) {
        if self.isBatch, !self.isFirst { self.bytes.append(0x2C) }
        self.isFirst = false
        self.bytes.append(contentsOf: #"{"id":"#.utf8)
        item.id.write(to: &self.bytes)
        self.bytes.append(contentsOf: #","jsonrpc":"2.0","#.utf8)
        switch result {
        case .success(let value):
            self.bytes.append(contentsOf: #""result":"#.utf8)
            value.write(to: &self.bytes)
        case .failure(let failure):
            self.bytes.append(contentsOf: #""error":"#.utf8)
            failure.json(withData: item.isOwn).write(to: &self.bytes)
        }
        self.bytes.append(0x7D)
    }
}

extension RPCItem {
    /// Whether the call is of one of Martlet's own methods.
    fileprivate var isOwn: Bool {
        guard case .success(let call) = self.call else { return false }
        return call.method.isOwnMethod
    }
}

extension JSON {
    /// The approximate number of bytes of the value as JSON text.
    var weight: Int {
        switch self {
        case .null, .bool, .integer, .number: 8
        case .literal(let text): text.utf8.count
        case .string(let text): text.utf8.count + 2
        case .array(let elements): elements.reduce(2) { $0 + $1.weight + 1 }
        case .object(let members): members.reduce(2) { $0 + $1.name.utf8.count + $1.value.weight + 4 }
        }
    }
}
