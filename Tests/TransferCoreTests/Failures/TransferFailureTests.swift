import Testing
import TransferCore

@Suite struct TransferFailureTests {
    @Test func everyCodeHasAStableName() {
        let names = TransferFailure.Code.allCases.map(\.rawValue)
        #expect(
            names == [
                "unknown", "timeout", "not-found", "too-slow", "name-resolution", "connection-refused",
                "host-unreachable", "connection-reset", "tls-handshake", "certificate-expired",
                "certificate-wrong-host", "certificate-unknown-authority", "certificate", "network", "cannot-resume",
                "no-space", "file-exists", "cannot-open", "cannot-create", "file-io", "cannot-create-directory",
                "bad-response", "redirects", "authentication", "bad-option", "overloaded", "checksum-mismatch",
                "too-large",
            ]
        )
    }

    @Test(arguments: TransportError.Code.allCases)
    func aTransportErrorKeepsItsKindAndWhetherItCanBeRetried(code: TransportError.Code) {
        let (expected, isRetryable): (TransferFailure.Code, Bool) =
            switch code {
            case .nameResolution: (.nameResolution, true)
            case .refused: (.connectionRefused, true)
            case .unreachable: (.hostUnreachable, true)
            case .reset: (.connectionReset, true)
            case .tls: (.tlsHandshake, true)
            case .connect, .broken, .truncated, .localResource, .cancelled, .proxyRefused: (.network, true)
            case .certificateExpired: (.certificateExpired, false)
            case .certificateWrongHost: (.certificateWrongHost, false)
            case .certificateUnknownAuthority: (.certificateUnknownAuthority, false)
            case .certificate: (.certificate, false)
            case .connectTimeout: (.timeout, true)
            case .malformed, .headTooLarge: (.badResponse, true)
            case .proxyAuthentication: (.authentication, false)
            case .proxySettings: (.badOption, false)
            case .content: (.fileIO, false)
            }
        let failure = TransferFailure(TransportError(code, "m", remedy: "r", setting: .trust))
        #expect(failure.code == expected && failure.isRetryable == isRetryable)
        #expect(failure.message == "m" && failure.remedy == "r" && failure.setting == .trust)
    }

    @Test func aHostIsAtFaultWhenItOrTheWayToItIs() {
        let faults: Set<TransferFailure.Code> = [
            .overloaded, .nameResolution, .connectionRefused, .hostUnreachable, .connectionReset, .tlsHandshake,
            .certificateExpired, .certificateWrongHost, .certificateUnknownAuthority, .certificate, .network,
        ]
        for code in TransferFailure.Code.allCases {
            #expect(TransferFailure(code, "").isHostFault == faults.contains(code), "\(code)")
        }
    }
}
