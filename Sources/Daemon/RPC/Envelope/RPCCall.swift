internal import Control

/// One call: a method, what it is given, and the mark by which the answer is known.
struct RPCCall: Sendable, Hashable {
    /// Any JSON value; it is sent back as it came.
    var id: JSON
    /// The method's name.
    var method: String
    /// The parameters, the token still among them.
    var parameters: RPCParameters
}

/// What a call is given.
enum RPCParameters: Sendable, Hashable {
    /// An array, or nothing at all.
    case positional([JSON])
    /// An object.
    case named(JSON)
    /// Something that is neither.
    case malformed

    /// Reads the member `params` of a call; `nil` is one that is missing.
    init(_ json: JSON?) {
        switch json {
        case nil: self = .positional([])
        case .array(let elements)?: self = .positional(elements)
        case .object(let members)?: self = .named(.object(members))
        default: self = .malformed
        }
    }

    /// Takes the first parameter off where it is a text that begins with `token:`.
    ///
    /// - Returns: The token, or `nil` where there is none.
    mutating func takeToken() -> String? {
        guard case .positional(var elements) = self, let first = elements.first?.string, first.hasPrefix("token:")
        else { return nil }
        elements.removeFirst()
        self = .positional(elements)
        return String(first.dropFirst(6))
    }
}

/// A call, or why it is none; the id is known even then, where there is one.
struct RPCItem: Sendable, Hashable {
    /// The id, or `null`.
    var id: JSON
    /// The call.
    var call: Result<RPCCall, RPCFailure>

    /// Reads one call as leniently as aria2's clients need it: `jsonrpc` may be anything.
    init(_ json: JSON) {
        guard case .object = json, let id = json["id"] else {
            self.init(id: .null, call: .failure(.invalidRequest))
            return
        }
        guard let method = json["method"]?.string else {
            self.init(id: id, call: .failure(.invalidRequest))
            return
        }
        self.init(id: id, call: .success(RPCCall(id: id, method: method, parameters: RPCParameters(json["params"]))))
    }

    init(id: JSON, call: Result<RPCCall, RPCFailure>) {
        self.id = id
        self.call = call
    }
}
