// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

extension TransferError {
    /// The reason why a connection could not be made or broke.
    public struct NetworkFailure: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case connectionRefused, hostUnreachable, connectionReset, tlsHandshake
            case certificateExpired, certificateWrongHost, certificateUnknownAuthority, certificate
            case other
        }

        private let value: Value

        private init(_ value: Value) { self.value = value }

        /// The host refused the connection: nothing listens on the port, or a firewall rejects it.
        public static let connectionRefused = TransferError.NetworkFailure(.connectionRefused)
        /// The host cannot be routed to, or the network is down.
        public static let hostUnreachable = TransferError.NetworkFailure(.hostUnreachable)
        /// The peer reset the connection.
        public static let connectionReset = TransferError.NetworkFailure(.connectionReset)
        /// The TLS handshake failed for a reason other than a certificate.
        public static let tlsHandshake = TransferError.NetworkFailure(.tlsHandshake)
        /// The server's certificate has expired or is not valid yet.
        public static let certificateExpired = TransferError.NetworkFailure(.certificateExpired)
        /// The server's certificate is for another host.
        public static let certificateWrongHost = TransferError.NetworkFailure(.certificateWrongHost)
        /// No trusted authority signed the server's certificate.
        public static let certificateUnknownAuthority = TransferError.NetworkFailure(.certificateUnknownAuthority)
        /// Another problem with a certificate: a pin does not match, or a client certificate is missing or refused.
        public static let certificate = TransferError.NetworkFailure(.certificate)
        /// Any other failure, such as a connection closed before the response was complete, or one stored by an older
        /// version.
        public static let other = TransferError.NetworkFailure(.other)

        /// Whether a certificate is the cause.
        public var isCertificate: Bool {
            switch self.value {
            case .certificateExpired, .certificateWrongHost, .certificateUnknownAuthority, .certificate: true
            case .connectionRefused, .hostUnreachable, .connectionReset, .tlsHandshake, .other: false
            }
        }

        /// The name.
        public var description: String { self.value.rawValue }

        /// The failure with this name; `other` if there is none.
        static func named(_ name: String) -> TransferError.NetworkFailure {
            TransferError.NetworkFailure(Value(rawValue: name) ?? .other)
        }

        init(of code: TransferFailure.Code) {
            self.value =
                switch code {
                case .connectionRefused: .connectionRefused
                case .hostUnreachable: .hostUnreachable
                case .connectionReset: .connectionReset
                case .tlsHandshake: .tlsHandshake
                case .certificateExpired: .certificateExpired
                case .certificateWrongHost: .certificateWrongHost
                case .certificateUnknownAuthority: .certificateUnknownAuthority
                case .certificate: .certificate
                default: .other
                }
        }
    }
}
