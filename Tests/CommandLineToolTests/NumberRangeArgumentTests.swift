// SPDX-License-Identifier: Apache-2.0
import Receiver
import Testing
import TransferTesting

import TransferCore

@testable import CommandLineTool

@Suite("Arguments with numbers at the ends of the integer types")
struct NumberRangeArgumentTests {
    /// The parser of arguments is slow, and the parsers of values are tested with all numbers.
    private static let few = ["-9223372036854775808", "-1", "4294967295", "9223372036854771711", "9223372036854775807"]

    @Test("are accepted or refused as values")
    func values() {
        for text in EdgeNumbers.texts {
            for suffix in ["", "K", "M", "GiB", "T", "s", ".5", ".5T"] {
                if let size = try? OptionSyntax.size.parsed(text + suffix) { #expect(size >= 0) }
                if let time = try? OptionSyntax.seconds.parsed(text + suffix) { #expect(time >= .zero) }
            }
            for range in [0...10, Int.min...Int.max] {
                if let number = try? OptionSyntax.number(range).parsed(text) { #expect(range.contains(number)) }
            }
            for form in ["\(text)", ":\(text)", "h:\(text)", "[::1]:\(text)"] {
                if let address = ListenAddress(parsing: form) { #expect((0...65535).contains(address.port)) }
            }
        }
    }

    @Test(
        "are accepted or refused by options",
        arguments: [
            "--connections", "--jobs", "--limit-rate", "--retries", "--retry-status", "--connect-timeout",
            "--stall-timeout", "--outage-timeout", "--max-time", "--min-split-size", "--priority", "--max-redirects",
            "--per-host", "--per-domain", "--host-interval", "--domain-interval", "--max-retry-after", "--max-size",
            "--min-size", "--shard-size", "--shard-count", "--checksum", "--proxy", "--pin",
        ]
    )
    func options(option: String) {
        for text in Self.few {
            _ = try? plan("\(option)=\(text)", "http://h/1")
        }
    }

    @Test(
        "are accepted or refused by options of the receiver",
        arguments: [
            "--listen", "--max-upload", "--max-total", "--keep-free", "--expiry", "--idle-timeout", "--upload-timeout",
            "--min-rate", "--max-connections", "--grace", "--share-expires", "--share-count", "--trusted-proxy",
        ]
    )
    func receiver(option: String) {
        for text in Self.few {
            _ = try? ServeCommand.plan(["d", "--share-uploads", "\(option)=\(text)"])
        }
    }
}
