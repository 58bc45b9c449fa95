// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// A transfer that is begun again after a crash finds the file that it has brought already.
@Suite(.timeLimit(.minutes(5)))
struct MarkTests {
    /// A server without validators and digests, so that only the mark identifies a file.
    private func plain(_ length: Int64) -> Served {
        var file = ServedFile(length: length, entityTag: nil)
        file.lastModified = nil
        return Served(file)
    }

    @Test(
        "A file with the transfer's own mark is its file, whatever the rule for existing ones",
        .enabled(if: ExtendedAttributes.areSupported),
        arguments: DownloadOptions.IfExists.allCases,
        [20_000, fileLength] as [Int64]
    )
    func ownMark(_ rule: DownloadOptions.IfExists, _ length: Int64) async throws {
        let harness = try Harness()
        let served = self.plain(length)
        let server = try await serve(served)
        for durable in [true, false] {
            let outcome = try await harness.fetch(server.text("file.bin")) { request in
                request.mark = "00000000000000aa"
                request.options.durable = durable
                request.options.ifExists = rule
            }
            harness.expectWhole(outcome, served.file)
            #expect(outcome.completion?.skipped == !durable, "\(outcome.story)")
        }
        #expect(server.requests.count == 1)
        await server.stop()
    }

    @Test(
        "Without extended attributes a transfer that is repeated never replaces a file, its own ones included",
        .disabled(if: ExtendedAttributes.areSupported),
        arguments: [(.rename, "file.1.bin"), (.auto, "file.1.bin"), (.fail, nil)]
            as [(DownloadOptions.IfExists, String?)]
    )
    func noMark(_ rule: DownloadOptions.IfExists, _ name: String?) async throws {
        let harness = try Harness()
        let served = self.plain(20_000)
        let server = try await serve(served)
        for round in 0..<2 {
            let outcome = try await harness.fetch(server.text("file.bin")) { request in
                request.mark = "00000000000000aa"
                request.options.ifExists = rule
            }
            if round == 0 {
                harness.expectWhole(outcome, served.file)
            } else if let name {
                harness.expectWhole(outcome, served.file, name: name, alone: false)
            } else {
                #expect(outcome.completion == nil)
            }
        }
        #expect(try harness.directory.read("file.bin").count == 20_000)
        await server.stop()
    }

    @Test("A file with another transfer's mark, and one that was changed since, is not ours")
    func otherMark() async throws {
        let harness = try Harness()
        let served = self.plain(20_000)
        let server = try await serve(served)
        for (mark, name) in [("a", "file.bin"), ("b", "file.1.bin"), ("b", "file.1.bin")] {
            let outcome = try await harness.fetch(server.text("file.bin")) { request in
                request.mark = mark
                request.options.ifExists = .rename
            }
            harness.expectWhole(outcome, served.file, name: name, alone: false)
        }
        try harness.directory.write([1, 2, 3], to: "file.bin")
        let outcome = try await harness.fetch(server.text("file.bin")) { request in
            request.mark = "a"
            request.options.ifExists = .rename
        }
        harness.expectWhole(outcome, served.file, name: "file.2.bin", alone: false)
        await server.stop()
    }
}
