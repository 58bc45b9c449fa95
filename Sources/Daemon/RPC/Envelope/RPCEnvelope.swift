// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// A parsed message: a call or a batch of calls.
///
/// Pure value: it parses bytes and performs nothing.
///
/// - Source: JSON-RPC 2.0, as far as aria2 follows it.
enum RPCEnvelope: Sendable, Hashable {
    /// One call, or an invalid message.
    case single(RPCItem)
    /// An array of calls; its response is an array.
    case batch([RPCItem])

    /// The maximum number of calls in one batch.
    static let batchLimit = 10_000

    /// Parses a message.
    ///
    /// - Parameters:
    ///   - bytes: The message.
    ///   - depth: The maximum nesting; deeper JSON is a parse error.
    init(parsing bytes: some Collection<UInt8>, depth: Int = JSON.defaultDepth) {
        do throws(SyntaxError) {
            self.init(try JSON(parsing: bytes, depth: depth))
        } catch {
            self = .single(
                RPCItem(id: .null, call: .failure(RPCFailure(code: -32_700, "Parse error.", cause: Self.cause(error))))
            )
        }
    }

    /// Creates the envelope of a parsed message.
    init(_ json: JSON) {
        switch json {
        case .array(let elements) where elements.count > Self.batchLimit:
            let failure = RPCFailure.tooMuch(
                "A batch of \(elements.count) calls is too large",
                remedy: "send at most \(Self.batchLimit) in one batch"
            )
            self = .single(RPCItem(id: .null, call: .failure(failure)))
        case .array(let elements): self = .batch(elements.map { RPCItem($0) })
        default: self = .single(RPCItem(json))
        }
    }

    private static func cause(_ error: SyntaxError) -> ControlError {
        ControlError(.badParameter, "Parse error.", remedy: error.description)
    }
}
