// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferCore

@Suite struct Aria2ExitStatusTests {
    /// The failures that the numbers stand for without a name.
    private static let kinds: [Int: TransferFailure.Code] = [
        1: .unknown, 2: .timeout, 3: .notFound, 5: .tooSlow, 6: .network, 8: .cannotResume, 9: .noSpace, 11: .inUse,
        13: .fileExists, 15: .cannotOpen, 16: .cannotCreate, 17: .fileIO, 18: .cannotCreateDirectory,
        19: .nameResolution, 22: .badResponse, 23: .redirects, 24: .authentication, 28: .badOption, 29: .overloaded,
        32: .checksumMismatch, 33: .tooLarge, 34: .robotsDenied, 35: .addressDenied,
    ]

    @Test(arguments: 0...34)
    func everyOldNumberKeepsItsMeaning(number: Int) {
        let code = Aria2ExitStatus(number: number).code
        #expect(code == Self.kinds[number])
        if let code { #expect(Aria2ExitStatus(code).number == number) }
    }

    @Test(arguments: [-1, 36, 130, Int.max, Int.min])
    func otherNumbersStandForNothing(number: Int) { #expect(Aria2ExitStatus(number: number).code == nil) }

    @Test func theNewKindsHaveTheNumberOfTheirCause() {
        let network: Set<TransferFailure.Code> = [
            .connectionRefused, .hostUnreachable, .connectionReset, .tlsHandshake, .certificateExpired,
            .certificateWrongHost, .certificateUnknownAuthority, .certificate, .network,
        ]
        for code in TransferFailure.Code.allCases {
            let number = Aria2ExitStatus(code).number
            #expect((number == 6) == network.contains(code), "\(code)")
            #expect(Self.kinds[number] == (network.contains(code) ? .network : code))
        }
    }

    // MARK: - What is stored

    @Test func aFailureIsReadAsItWasWritten() throws {
        for code in TransferFailure.Code.allCases {
            let failure = TransferRecord.Failure(code, "what", remedy: "do", status: 503)
            let read = try #require(TransferRecord.Failure(json: JSON(parsing: failure.json.text)))
            #expect(read == failure && read.kind == code)
            #expect(read.code == Aria2ExitStatus(code).number && read.reason == code.rawValue)
        }
    }

    @Test(arguments: 0...34)
    func aFailureOfAnOlderVersionIsReadByItsNumber(number: Int) throws {
        let text = #"{"code":\#(number),"message":"gone","remedy":"","status":null}"#
        let failure = try #require(TransferRecord.Failure(json: JSON(parsing: text)))
        #expect(failure.code == number && failure.reason == nil && failure.message == "gone")
        #expect(failure.kind == Self.kinds[number] ?? .unknown)
    }

    @Test func aReasonOfANewerVersionFallsBackToTheNumber() throws {
        let text = #"{"code":6,"reason":"quantum-decoherence","message":"m","remedy":"","status":null}"#
        let failure = try #require(TransferRecord.Failure(json: JSON(parsing: text)))
        #expect(failure.kind == .network && failure.reason == "quantum-decoherence")
        #expect(failure.json.text == text)
    }
}
