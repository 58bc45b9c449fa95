internal import Control

/// Why a call was not done, as JSON-RPC tells it.
struct RPCFailure: Error, Sendable, Hashable {
    /// The code: 1 for everything that aria2 has no other for, or one of JSON-RPC's own.
    var code: Int
    /// What happened.
    var message: String
    /// The daemon's own error, for those who read more than the code.
    var cause: ControlError?

    init(code: Int, _ message: String, cause: ControlError? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// A call that came to a method and failed there.
    init(_ error: ControlError) { self.init(code: 1, error.message, cause: error) }

    /// The text is no JSON.
    static let parseError = RPCFailure(code: -32_700, "Parse error.")
    /// The JSON is no call.
    static let invalidRequest = RPCFailure(code: -32_600, "Invalid Request.")
    /// The parameters are no array.
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

    /// More calls or deeper ones than are taken at once.
    static func tooMuch(_ message: String, remedy: String = "") -> RPCFailure {
        RPCFailure(ControlError(.tooMuch, message, remedy: remedy))
    }

    /// The HTTP status that goes with the code.
    ///
    /// - Source: aria2's `HttpServerBodyCommand`.
    var status: Int {
        switch self.code {
        case 1, -32_600: 400
        case -32_601: 404
        default: 500
        }
    }

    /// The error as aria2 writes it, or with the daemon's `data` for Martlet's own methods.
    func json(withData: Bool) -> JSON {
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
