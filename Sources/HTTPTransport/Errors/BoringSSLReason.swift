// SPDX-License-Identifier: Apache-2.0
internal import NIOSSL

/// A reason code of BoringSSL: `SSL_R_…` in its `ssl.h`.
struct BoringSSLReason: Hashable, Sendable {
    let number: UInt32

    /// The peer's certificate was not accepted (`SSL_R_CERTIFICATE_VERIFY_FAILED`).
    static let certificateVerifyFailed = BoringSSLReason(number: 125)
    /// The peer sent something other than TLS (`SSL_R_WRONG_VERSION_NUMBER`).
    static let wrongVersionNumber = BoringSSLReason(number: 247)

    /// The alert that the peer sent (RFC 8446 §6); BoringSSL adds 1000 to it.
    var alert: UInt8? { self.number >= 1000 ? UInt8(exactly: self.number - 1000) : nil }

    init(number: UInt32) { self.number = number }

    /// Splits a packed error: the library in the upper 8 bits, the reason in the lower 12.
    ///
    /// - Returns: `nil` for an error of another part of BoringSSL.
    /// - Source: `ERR_GET_LIB`, `ERR_GET_REASON` and `ERR_LIB_SSL` in BoringSSL's `err.h`.
    init?(packed code: UInt32) {
        guard code >> 24 == 16 else { return nil }
        self.number = code & 0xFFF
    }

    /// The reasons in an error's stack; empty if it is not an error of BoringSSL.
    static func all(in error: any Error) -> [BoringSSLReason] {
        self.stack(of: error).compactMap { self.code(of: $0).flatMap { BoringSSLReason(packed: $0) } }
    }

    private static func stack(of error: any Error) -> NIOBoringSSLErrorStack {
        let cause: BoringSSLError? =
            switch error as? NIOSSLError {
            case .handshakeFailed(let cause)?, .shutdownFailed(let cause)?: cause
            default: error as? BoringSSLError
            }
        switch cause {
        case .sslError(let stack)?, .unknownError(let stack)?, .invalidSNIName(let stack)?,
            .failedToSetALPN(let stack)?:
            return stack
        default: return []
        }
    }

    /// The packed error that `BoringSSLInternalError` wraps.
    ///
    /// NIOSSL 2.37 has no public access to the number, so it is read by reflection. If a later version stores it in
    /// another way, the result is `nil`, the failure is classified as a handshake failure, and `TLSFailureTests` fail.
    private static func code(of error: BoringSSLInternalError) -> UInt32? {
        guard let backing = Mirror(reflecting: error).children.first?.value,
            let info = Mirror(reflecting: backing).children.first?.value as? (UInt32, String, UInt)
        else { return nil }
        return info.0
    }
}

extension BoringSSLReason {
    /// Whether it is an alert by which a server refuses the client's certificate (RFC 8446 §6.2).
    var refusesClientCertificate: Bool {
        switch self.alert {
        case 42, 43, 44, 45, 48: true
        default: false
        }
    }

    /// Whether it is the alert of a server that requires a client certificate (RFC 8446 §6.2).
    var requiresClientCertificate: Bool { self.alert == 116 }

    /// The text for a message about a handshake; `nil` for reasons without one.
    var explanation: String? {
        switch self.alert {
        case nil where self == .wrongVersionNumber: "the server does not speak TLS on this port"
        case 40?: "the server accepts none of the offered parameters (alert 40)"
        case 70?: "the server does not speak the required version of TLS (alert 70)"
        case 71?: "the server requires stronger encryption (alert 71)"
        case 80?: "the server has an internal error (alert 80)"
        case 112?: "the server does not know this host name (alert 112)"
        case 120?: "the server speaks only HTTP/2 on this port, but HTTP/1.1 is required (alert 120)"
        case let alert?: "the server sent alert \(alert)"
        default: nil
        }
    }
}
