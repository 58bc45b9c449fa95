// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing
import TransferTesting

/// The examples of the README, each as its reader runs it.
@Suite("Examples", .serialized, .timeLimit(.minutes(4)))
struct ExampleTests {
    @Test(arguments: ["image-queue", "file-sender", "background-image", "blocking", "offline-list"])
    func runsChecksItselfAndLeavesNothing(_ name: String) async throws {
        let place = try TemporaryDirectory()
        let example = try BuiltProgram(
            [name],
            of: "Examples",
            environment: ["TMPDIR": place.path],
            mergesErrors: true
        )
        let output = await example.everything()
        #expect(await example.status == 0, "\(output)")
        let last = output.split(separator: "\n").last ?? ""
        #expect(last.hasPrefix("\(name): ") && last.hasSuffix(" checks passed"), "\(output)")
        #expect(place.entries() == [], "something is left behind")
    }

    @Test func anUnknownNameIsExplained() async throws {
        let example = try BuiltProgram(["image-cue"], of: "Examples", environment: [:], mergesErrors: true)
        let output = await example.everything()
        #expect(await example.status == 2)
        #expect(output.contains("there is no example 'image-cue'") && output.contains("image-queue"))
    }
}
