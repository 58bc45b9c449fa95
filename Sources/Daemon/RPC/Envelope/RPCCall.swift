// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// One call: a method, its parameters, and the id that its response repeats.
struct RPCCall: Sendable, Hashable {
    /// Any JSON value; the response repeats it unchanged.
    var id: JSON
    /// The method's name.
    var method: String
    /// The parameters, including the token.
    var parameters: RPCParameters
}

enum RPCParameters: Sendable, Hashable {
    /// An array; empty without parameters.
    case positional([JSON])
    /// An object.
    case named(JSON)
    /// Another JSON value.
    case malformed

    /// Parses the member `params` of a call; `nil` if it is missing.
    init(_ json: JSON?) {
        switch json {
        case nil: self = .positional([])
        case .array(let elements)?: self = .positional(elements)
        case .object(let members)?: self = .named(.object(members))
        default: self = .malformed
        }
    }

    /// Removes the first parameter if it is a string that starts with `token:`.
    ///
    /// - Returns: The token, or `nil` if there is none.
    mutating func takeToken() -> String? {
        guard case .positional(var elements) = self, let first = elements.first?.string, first.hasPrefix("token:")
        else { return nil }
        elements.removeFirst()
        self = .positional(elements)
        return String(first.dropFirst(6))
    }
}

/// A call with its id, or the reason why the message is not a valid call.
struct RPCItem: Sendable, Hashable {
    /// The id, or `null`.
    var id: JSON
    var call: Result<RPCCall, RPCFailure>

    /// Parses one call as leniently as aria2's clients require: `jsonrpc` may be anything.
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
