import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// A transfer that is begun again after a crash finds the file that it has brought already.
@Suite(.timeLimit(.minutes(5)))
struct MarkTests {
    /// A server that tells nothing to recognise a file by, so that only the mark can.
    private func plain(_ length: Int64) -> Served {
        var file = ServedFile(length: length, entityTag: nil)
        file.lastModified = nil
        return Served(file)
    }

    @Test(
        "A file with the transfer's own mark is its file, whatever the rule for existing ones",
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

    @Test("A file with another transfer's mark, and one that was changed since, is somebody else's")
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
