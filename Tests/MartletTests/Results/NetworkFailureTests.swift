// SPDX-License-Identifier: Apache-2.0
import Control
import Foundation
import Testing
import TransferCore
import TransferTesting

@testable import Martlet

@Suite("What failed of the network", .timeLimit(.minutes(1)))
struct NetworkFailureTests {
    private static let table: [(TransferFailure.Code, TransferError.NetworkFailure)] = [
        (.connectionRefused, .connectionRefused), (.hostUnreachable, .hostUnreachable),
        (.connectionReset, .connectionReset), (.tlsHandshake, .tlsHandshake),
        (.certificateExpired, .certificateExpired), (.certificateWrongHost, .certificateWrongHost),
        (.certificateUnknownAuthority, .certificateUnknownAuthority), (.certificate, .certificate),
        (.network, .other),
    ]

    private static func code(of failure: TransferError.NetworkFailure) -> TransferError.Code {
        failure.isCertificate ? .certificate : .network
    }

    @Test("The code is network or certificate, and the failure says more", arguments: Self.table)
    func kinds(code: TransferFailure.Code, expected: TransferError.NetworkFailure) {
        let error = TransferError(TransferFailure(code, "m"))
        #expect(error.code == Self.code(of: expected) && error.networkFailure == expected)
        #expect(TransferError(error, resumeData: nil).networkFailure == expected)
        #expect(TransferError.NetworkFailure.named(expected.description) == expected)
        #expect(expected.isCertificate == code.rawValue.hasPrefix("certificate"))
    }

    @Test("Other errors have none")
    func others() {
        for code in TransferFailure.Code.allCases where !Self.table.contains(where: { $0.0 == code }) {
            let error = TransferError(TransferFailure(code, "m"))
            #expect(error.code != .network && error.code != .certificate && error.networkFailure == nil, "\(code)")
        }
    }

    @Test("A refused connection, and a certificate of an unknown authority")
    func real() async throws {
        let refusing = try RefusingPort()
        let harness = try Harness { $0.retries = .none }
        let refused = try await failure { try await harness.session.data(from: refusing.text("a")) }
        #expect(refused.code == .network && refused.networkFailure == .connectionRefused)
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200) }
        let untrusted = try await failure { try await harness.session.data(from: server.text("a")) }
        #expect(untrusted.code == .certificate && untrusted.networkFailure == .certificateUnknownAuthority)
        #expect(untrusted.remedy == "add its certificate authority to the configuration's TLS options")
    }

    // MARK: - What is stored

    @Test("A failure in a list of an older version keeps its meaning")
    func oldList() throws {
        let text = #"{"code":"network","message":"cut","remedy":"","isRetryable":true}"#
        let record = try JSONDecoder().decode(OfflineRecord.Failure.self, from: Data(text.utf8))
        let error = record.error
        #expect(error.code == .network && error.networkFailure == .other && error.isRetryable)
        let name = #"{"code":"nameResolution","message":"cut","remedy":"","isRetryable":true}"#
        let other = try JSONDecoder().decode(OfflineRecord.Failure.self, from: Data(name.utf8)).error
        #expect(other.code == .nameResolution && other.networkFailure == nil)
        let old =
            #"{"code":"network","message":"m","remedy":"","isRetryable":false,"networkFailure":"certificateExpired"}"#
        let certificate = try JSONDecoder().decode(OfflineRecord.Failure.self, from: Data(old.utf8)).error
        #expect(certificate.code == .certificate && certificate.networkFailure == .certificateExpired)
    }

    @Test("A failure is found in the list again as it was", arguments: Self.table)
    func list(code: TransferFailure.Code, expected: TransferError.NetworkFailure) throws {
        let record = OfflineRecord.Failure(TransferError(TransferFailure(code, "m")))
        let read = try JSONDecoder().decode(OfflineRecord.Failure.self, from: JSONEncoder().encode(record))
        #expect(read.error.code == Self.code(of: expected) && read.error.networkFailure == expected)
    }

    @Test("A failure that an older daemon sends keeps its meaning, and that of a newer one says more")
    func daemon() throws {
        let old: [(Int, TransferError.Code)] = [
            (1, .unknown), (2, .timeout), (3, .httpStatus), (5, .timeout), (6, .network), (8, .cannotResume),
            (9, .noSpace), (13, .fileExists), (15, .file), (16, .file), (17, .file), (18, .file),
            (19, .nameResolution), (22, .badResponse), (23, .redirect), (24, .authentication), (28, .badRequest),
            (29, .httpStatus), (32, .checksumMismatch), (33, .bodyTooLarge), (0, .unknown), (99, .unknown),
        ]
        for (number, code) in old {
            let json = try JSON(parsing: #"{"code":\#(number),"message":"m","remedy":"","status":null}"#)
            #expect(TransferError(BackgroundTransfer.failure(json)).code == code, "\(number)")
        }
        for (code, expected) in Self.table {
            let json = TransferRecord.Failure(code, "m").json
            #expect(json["code"]?.integer == 6)
            #expect(TransferError(BackgroundTransfer.failure(json)).networkFailure == expected)
        }
        #expect(TransferError(BackgroundTransfer.failure(nil)).code == .unknown)
    }
}
