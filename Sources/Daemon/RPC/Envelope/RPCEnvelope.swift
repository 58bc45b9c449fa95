internal import Control

/// What one message asks: a call, or a batch of them.
///
/// Pure value: it reads bytes and decides nothing else.
///
/// - Source: JSON-RPC 2.0, as far as aria2 follows it.
enum RPCEnvelope: Sendable, Hashable {
    /// One call, or a message that is none.
    case single(RPCItem)
    /// An array of them, answered by an array.
    case batch([RPCItem])

    /// The most calls in one batch.
    static let batchLimit = 10_000

    /// Reads a message.
    ///
    /// - Parameters:
    ///   - bytes: The message.
    ///   - depth: The nesting that is taken; what is deeper is no JSON here.
    init(parsing bytes: some Collection<UInt8>, depth: Int = JSON.defaultDepth) {
        do throws(JSONError) {
            self.init(try JSON(parsing: bytes, depth: depth))
        } catch {
            self = .single(
                RPCItem(id: .null, call: .failure(RPCFailure(code: -32_700, "Parse error.", cause: Self.cause(error))))
            )
        }
    }

    /// Reads a message that is JSON already.
    init(_ json: JSON) {
        switch json {
        case .array(let elements) where elements.count > Self.batchLimit:
            let failure = RPCFailure.tooMuch(
                "A batch of \(elements.count) calls is too large",
                remedy: "send at most \(Self.batchLimit) at once"
            )
            self = .single(RPCItem(id: .null, call: .failure(failure)))
        case .array(let elements): self = .batch(elements.map { RPCItem($0) })
        default: self = .single(RPCItem(json))
        }
    }

    private static func cause(_ error: JSONError) -> ControlError {
        ControlError(.badParameter, "Parse error.", remedy: error.description)
    }
}
