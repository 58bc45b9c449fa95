// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// A JSON-RPC error.
struct RPCFailure: Error, Sendable, Hashable {
    /// One of JSON-RPC's predefined codes, or 1 for all other errors, as in aria2.
    var code: Int
    /// The description of the error.
    var message: String
    /// The daemon's error, for the member `data`.
    var cause: ControlError?

    init(code: Int, _ message: String, cause: ControlError? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// Creates the failure of a call from the error of its method.
    init(_ error: ControlError) { self.init(code: 1, error.message, cause: error) }

    /// The message is not valid JSON.
    static let parseError = RPCFailure(code: -32_700, "Parse error.")
    /// The JSON is not a call.
    static let invalidRequest = RPCFailure(code: -32_600, "Invalid Request.")
    /// The parameters are not an array.
    static let invalidParameters = RPCFailure(code: -32_602, "Invalid params.")
    /// The token is missing or wrong; clients compare this text.
    static let unauthorized = RPCFailure(
        code: 1,
        "Unauthorized",
        cause: ControlError(
            .unauthorized,
            "Unauthorized",
            remedy: "pass the token of the state directory's rpc-secret file as \"token:…\""
        )
    )

    /// Creates the failure of a call whose token was not checked, because its client has presented many wrong ones.
    static func refused(_ wait: Duration) -> RPCFailure {
        .tooMuch("Too many wrong tokens from this address", remedy: "try again in \(wait.wholeSeconds) s")
    }

    /// Creates the failure of a message that exceeds a limit.
    static func tooMuch(_ message: String, remedy: String = "") -> RPCFailure {
        RPCFailure(ControlError(.tooMuch, message, remedy: remedy))
    }

    /// The HTTP status for the code.
    ///
    /// - Source: aria2's `HttpServerBodyCommand`.
    var status: Int {
        switch self.code {
        case 1, -32_600: 400
        case -32_601: 404
        default: 500
        }
    }

    /// Returns the error object as aria2 writes it, or with the member `data` for Martlet's own methods.
    ///
    /// - Source: JSON-RPC 2.0 §5.1; for XML-RPC the members of a fault, which allows no others.
    func json(_ dialect: RPCDialect = .json, withData: Bool) -> JSON {
        guard dialect == .json else {
            return ["faultCode": .integer(Int64(self.code)), "faultString": .string(self.message)]
        }
        var members: [JSON.Member] = [
            .init("code", .integer(Int64(self.code))), .init("message", .string(self.message)),
        ]
        if withData, let cause = self.cause {
            members.append(
                .init("data", ["reason": .string(cause.code.rawValue), "remedy": .string(cause.remedy)])
            )
        }
        return .object(members)
    }
}

extension Duration {
    /// The number of seconds, rounded up, at least 1.
    var wholeSeconds: Int64 { max(1, self.components.seconds + (self.components.attoseconds > 0 ? 1 : 0)) }
}
