// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import TransferCore
internal import TransferEngine

extension TransportError {
    /// Classifies an error number of a connection, being made or established; `nil` for numbers without a code.
    ///
    /// - Source: connect(2), recv(2), send(2).
    static func code(ofErrno number: CInt) -> Code? {
        switch number {
        case ECONNREFUSED: .refused
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN: .unreachable
        case ECONNRESET, EPIPE, ECONNABORTED: .reset
        default: nil
        }
    }

    /// The remedy for a failed connection; may be empty.
    static func remedy(for code: Code) -> String {
        switch code {
        case .refused: "check the port, and that the server is running"
        case .unreachable: "check the network"
        default: ""
        }
    }

    /// The system's text for an error number.
    static func text(_ number: CInt) -> String {
        strerror(number).map { String(cString: $0).lowercased() } ?? "error \(number)"
    }
}
