// SPDX-License-Identifier: Apache-2.0
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
                "no-space", "file-exists", "in-use", "cannot-open", "cannot-create", "file-io",
                "cannot-create-directory", "bad-response", "redirects", "authentication", "bad-option", "overloaded",
                "checksum-mismatch", "too-large", "robots-denied", "address-denied",
            ]
        )
    }

    @Test(arguments: TransportError.Code.allCases)
    func aTransportErrorKeepsItsKindAndWhetherItCanBeRetried(code: TransportError.Code) {
        let (expected, isRetryable): (TransferFailure.Code, Bool) =
            switch code {
            case .nameResolution: (.nameResolution, true)
            case .unknownName: (.nameResolution, false)
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
            case .onlyHTTP2: (.badResponse, false)
            case .proxyAuthentication: (.authentication, false)
            case .proxySettings: (.badOption, false)
            case .content: (.fileIO, false)
            case .notCached: (.unknown, false)
            case .robotsDenied: (.robotsDenied, false)
            case .addressDenied: (.addressDenied, false)
            case .robotsUnavailable: (.overloaded, true)
            }
        let failure = TransferFailure(TransportError(code, "m", remedy: "r", setting: .trust))
        #expect(failure.code == expected && failure.isRetryable == isRetryable)
        #expect(failure.isNotCached == (code == .notCached))
        #expect(failure.message == "m" && failure.remedy == "r" && failure.setting == .trust)
    }

    @Test("failures to connect and broken connections are evidence of an outage; what concerns one name or file is not")
    func evidence() {
        let causes: [TransportError.Code: OutageCause] = [
            .nameResolution: .resolver, .refused: .refused, .unreachable: .unreachable, .connectTimeout: .timeout,
            .connect: .connect, .reset: .broken, .broken: .broken, .truncated: .broken,
            .robotsUnavailable: .errors,
        ]
        let peer = Origin(scheme: .http, host: "h", port: 1)
        for code in TransportError.Code.allCases {
            var error = TransportError(code, "")
            error.peer = peer
            let evidence = TransferFailure(error).evidence
            #expect(evidence?.cause == causes[code], "\(code)")
            #expect(evidence.map { $0.peer == peer } ?? true)
        }
    }

    @Test("429 and 503 limit a host's requests; other statuses do not")
    func throttled() {
        for status in [400, 404, 408, 429, 500, 502, 503, 504] {
            let failure = TransferFailure(.overloaded, "", status: status)
            #expect(failure.isThrottled == (status == 429 || status == 503))
        }
    }
}
