// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The daemon's response to a call.
struct ControlResponse: Sendable {
    let status: Int
    let body: [UInt8]

    /// The call's result.
    ///
    /// - Throws: ``ControlError``: that of the daemon's response, or `protocolMismatch`.
    func result(of subject: String) throws(ControlError) -> JSON {
        let json: JSON
        do {
            json = try JSON(parsing: self.body)
        } catch {
            guard self.status == 200 else { throw ControlError.status(self.status, subject) }
            throw ControlError(.protocolMismatch, "the daemon's answer to \(subject) is no JSON: \(error.description)")
        }
        if let error = json["error"], !error.isNull { throw ControlError(answer: error, status: self.status) }
        guard self.status == 200, let result = json["result"] else {
            throw self.status == 200
                ? ControlError(.protocolMismatch, "the daemon's answer to \(subject) has no result")
                : ControlError.status(self.status, subject)
        }
        return result
    }

    /// The error in a response that was sent in place of an event stream.
    func error(of subject: String) -> ControlError {
        guard let json = try? JSON(parsing: self.body) else { return .status(self.status, subject) }
        if let error = json["error"], error.object != nil { return ControlError(answer: error, status: self.status) }
        return json["message"] != nil || json["reason"] != nil
            ? ControlError(answer: json, status: self.status) : .status(self.status, subject)
    }
}

extension ControlError {
    /// Reads the error object of a response: the kind is that of `data.reason`, else of JSON-RPC's code, else of the
    /// status.
    init(answer: JSON, status: Int = 200) {
        let data = answer["data"] ?? answer
        let code = data["reason"]?.string.flatMap { Code(rawValue: $0) }
        let message = answer["message"]?.string ?? "the daemon answered an error without a message"
        let numbered: Code? =
            switch answer["code"]?.integer {
            case -32601: .unknownMethod
            case -32602, -32600, -32700: .badParameter
            default: nil
            }
        self.init(code ?? numbered ?? Self.code(of: status), message, remedy: data["remedy"]?.string ?? "")
    }

    static func status(_ status: Int, _ subject: String) -> ControlError {
        ControlError(self.code(of: status), "the daemon answered \(subject) with HTTP status \(status)")
    }

    private static func code(of status: Int) -> Code {
        switch status {
        case 401: .unauthorized
        case 403: .forbidden
        case 404: .notFound
        case 409: .sessionInUse
        case 413, 429: .tooMuch
        case 503: .stopping
        default: .unknown
        }
    }
}
