// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferCore
import TransferEngine

@testable import CommandLineTool

@Suite struct ValueTests {
    @Test(
        arguments: [
            ("0", 0), ("1500", 1500), ("64K", 65536), ("64k", 65536), ("1.5M", 1_572_864), ("2GiB", 2 << 30),
            ("1T", 1 << 40),
            ("10B", 10), ("3MB", 3 << 20),
        ] as [(String, Int64)]
    )
    func sizesArePowersOf1024(text: String, bytes: Int64) throws {
        #expect(try OptionSyntax.size.parsed(text) == bytes)
    }

    @Test(arguments: ["", "K", "-1", "1e5", "5Q", "9223372036854775808", "9999999999G", "1.2.3M", "0x10", "∞", "²K"])
    func whatIsNoSizeIsRefused(text: String) {
        #expect(throws: SyntaxError.self) { try OptionSyntax.size.parsed(text) }
    }

    @Test func timesAreSecondsWithFractions() throws {
        #expect(try OptionSyntax.seconds.parsed("0") == .zero)
        #expect(try OptionSyntax.seconds.parsed("0.5") == .milliseconds(500))
        #expect(try OptionSyntax.seconds.parsed("90s") == .seconds(90))
        for text in ["", "-1", "1m", "nan", "inf", "1e3", "99999999999"] {
            #expect(throws: SyntaxError.self) { try OptionSyntax.seconds.parsed(text) }
        }
    }

    @Test(arguments: [
        "md5:00112233445566778899aabbccddeeff", "MD5=00112233445566778899AABBCCDDEEFF", "md5:ABEiM0RVZneImaq7zN3u/w==",
        "md5:ABEiM0RVZneImaq7zN3u_w",
    ])
    func digestsAreHexadecimalOrBase64(text: String) throws {
        let digest = try OptionSyntax.digest.parsed(text)
        #expect(digest.algorithm == .md5)
        #expect(Hexadecimal.encode(digest.bytes) == "00112233445566778899aabbccddeeff")
    }

    @Test func aria2sAlgorithmNamesAreKnown() throws {
        #expect(try OptionSyntax.algorithm.parsed("sha-256") == .sha256)
        #expect(try OptionSyntax.algorithm.parsed("SHA512") == .sha512)
    }

    @Test func aListsNamesStayBelowTheirDirectory() throws {
        #expect(try FilePath.inside("a/b.bin") == "a/b.bin")
        for path in ["/etc/passwd", "../x", "a/../../x", "a/", "", ".."] {
            #expect(throws: SyntaxError.self) { try FilePath.inside(path) }
        }
        #expect(try FilePath.split("/x").directory == "/")
        #expect(FilePath.join("d", "/abs") == "/abs")
        #expect(FilePath.join("d/", "e") == "d/e")
    }

    @Test(
        arguments: [
            (false, nil, false, 0, 0), (false, nil, false, 3, 7), (false, .notFound, false, 3, 3),
            (false, .connectionRefused, false, 1, 6), (false, .certificateExpired, false, 1, 6),
            (false, .nameResolution, false, 1, 19), (false, .network, false, 1, 6), (true, .notFound, true, 3, 130),
            (false, nil, true, 3, 17), (false, .checksumMismatch, false, 0, 32),
        ] as [(Bool, TransferFailure.Code?, Bool, Int, Int32)]
    )
    func theMostSevereReasonChoosesTheExitStatus(
        interrupted: Bool,
        failure: TransferFailure.Code?,
        broken: Bool,
        unfinished: Int,
        status: Int32
    ) {
        #expect(
            ExitStatus.choose(
                interrupted: interrupted,
                failures: failure.map { Int32(Aria2ExitStatus($0).number) } ?? 0,
                outputBroken: broken,
                unfinished: unfinished
            ) == status
        )
    }
}
