// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// File names chosen by a server.
@Suite(.timeLimit(.minutes(5)))
struct NameTests {
    private static let file = ServedFile(length: 20_000)

    private func nameFor(_ disposition: String?, path: String = "x/file.bin?q=1") async throws -> String {
        let harness = try Harness()
        var file = Self.file
        if let disposition { file.fields = [("Content-Disposition", disposition)] }
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text(path))
        let entries = harness.directory.entries()
        #expect(entries.count == 1, "\(outcome.story)")
        #expect(outcome.completion?.path == harness.directory.path(entries.first ?? ""))
        harness.expectWhole(outcome, file, name: entries.first ?? "")
        await server.stop()
        return entries.first ?? ""
    }

    @Test(
        "a name from the server is one safe component",
        arguments: [
            ("attachment; filename=\"../../etc/passwd\"", "passwd"),
            ("attachment; filename=\"..\\\\..\\\\boot.ini\"", "boot.ini"),
            ("attachment; filename=\".bashrc\"", "bashrc"),
            ("attachment; filename=\"/etc/shadow\"", "shadow"),
            ("attachment; filename=\"name. \"", "name"),
            ("attachment; filename=\"..\"", "file.bin"),
            ("attachment; filename=\"\"", "file.bin"),
            ("attachment; filename*=UTF-8''%e2%82%ac%20rates.txt; filename=\"rates.txt\"", "\u{20AC} rates.txt"),
            ("attachment; filename*=UTF-8''..%2F..%2Fevil", "evil"),
            ("attachment; filename*=UTF-8''a%00b%0Ac%1Bd", "abcd"),
            ("attachment; filename*=UTF-8''photo%E2%80%AEgpj.exe", "photogpj.exe"),
        ]
    )
    func disposition(_ value: String, _ name: String) async throws {
        #expect(try await self.nameFor(value) == name)
    }

    @Test("a name of 300 bytes is cut, its extension kept", arguments: ["txt", "tar.gz"])
    func long(_ suffix: String) async throws {
        let name = try await self.nameFor("attachment; filename=\"\(String(repeating: "n", count: 300)).\(suffix)\"")
        #expect(name.utf8.count <= 255)
        #expect(name.hasSuffix("n.\(suffix)"))
    }

    @Test(
        "the last segment of the URL, decoded, without its query",
        arguments: [
            ("a/b%20c.txt?x=/y/z.exe", "b c.txt"), ("a/..%2f..%2fetc%2fpasswd", "passwd"), ("", "download"),
            ("dir/", "download"), ("%2e%2e", "download"), ("%2ehidden", "hidden"),
        ]
    )
    func fromURL(_ path: String, _ name: String) async throws {
        #expect(try await self.nameFor(nil, path: path) == name)
    }

    @Test("the user's own name wins over the server's")
    func userName() async throws {
        let harness = try Harness()
        var file = Self.file
        file.fields = [("Content-Disposition", "attachment; filename=\"theirs\"")]
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"), name: ".mine")
        harness.expectWhole(outcome, file, name: ".mine")
        await server.stop()
    }

    @Test("two files of one run with one name are numbered in the order of the input")
    func sameName() async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { request in
            let seed = UInt64(request.path.split(separator: "/").first?.utf8.first ?? 0)
            return .file(ServedFile(TestPattern(seed: seed), length: seed == 0x61 ? fileLength : 30_000), request)
        }
        let requests = try ["a", "b", "c"].map { try harness.request([server.text("\($0)/data.tar.gz")]) }
        let outcomes = try await harness.fetchAll(requests)
        for (index, name) in ["data.tar.gz", "data.1.tar.gz", "data.2.tar.gz"].enumerated() {
            let file = ServedFile(TestPattern(seed: 0x61 + UInt64(index)), length: index == 0 ? fileLength : 30_000)
            harness.expectWhole(outcomes[index], file, name: name, alone: false)
        }
        #expect(harness.directory.entries().count == 3)
        await server.stop()
    }

    @Test("a link that has the name is not followed")
    func link() async throws {
        let harness = try Harness()
        let victim = try TemporaryDirectory()
        try victim.write([7], to: "victim")
        try harness.directory.link("file.bin", to: victim.path("victim"))
        let server = try await serve(Served(Self.file))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.ifExists = .auto }
        #expect(outcome.completion != nil, "\(outcome.story)")
        #expect(try victim.read("victim") == [7])
        await server.stop()
    }

    @Test(
        "a server that names two downloads as a partial file and its journal does not begin the next download",
        arguments: [false, true]
    )
    func reservedNames(inURL: Bool) async throws {
        // A killed run leaves a pair with the bytes of another file.
        let maker = try Harness()
        let served = Served(ServedFile(TestPattern(seed: 9), length: fileLength))
        let server = try await serve(served)
        try await maker.leavePartial(served, server.text("file.bin"))
        let names = ["file.bin.part", "file.bin.part.journal"]
        let pair = try names.map { try maker.directory.read($0) }

        let hostile = try await ScriptedServer.start { request in
            let index = request.path.hasSuffix("journal") ? 1 : 0
            let disposition = ("Content-Disposition", "attachment; filename=\"\(names[index])\"")
            return .response(200, inURL ? [] : [disposition], body: pair[index])
        }
        let harness = try Harness()
        let paths = inURL ? names : ["data", "journal"]
        let outcomes = try await harness.fetchAll(try paths.map { try harness.request([hostile.text($0)]) })
        #expect(outcomes.allSatisfy { $0.warnings.contains { $0.contains("is reserved") } }, "\(outcomes[0].story)")
        #expect(harness.directory.entries() == names.map { $0 + ".download" })
        await hostile.stop()

        served.change { $0.pattern = TestPattern(seed: 1) }
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, served.file, alone: false)
        await server.stop()
    }

    @Test("a pair that another program downloaded is neither continued nor deleted")
    func plantedPair() async throws {
        let maker = try Harness()
        let served = Served(ServedFile(TestPattern(seed: 9), length: fileLength))
        let server = try await serve(served)
        try await maker.leavePartial(served, server.text("file.bin"))
        let harness = try Harness()
        for name in ["file.bin.part", "file.bin.part.journal"] {
            try harness.directory.write(try maker.directory.read(name), to: name)
        }
        served.change { $0.pattern = TestPattern(seed: 1) }
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, served.file, name: "file.1.bin", alone: false)
        #expect(try harness.directory.read("file.bin.part") == maker.directory.read("file.bin.part"))
        #expect(harness.directory.entries() == ["file.1.bin", "file.bin.part", "file.bin.part.journal"])
        await server.stop()
    }

    @Test("the name of a partial file is accepted from the user, unless it is another file's")
    func userGivesPartialName() async throws {
        let harness = try Harness()
        let served = Served(ServedFile(length: fileLength))
        let server = try await serve(served)
        let outcome = try await harness.fetch(server.text("file.bin"), name: "video.mp4.part")
        harness.expectWhole(outcome, served.file, name: "video.mp4.part")
        let other = try Harness()
        try await other.leavePartial(served, server.text("file.bin"))
        for name in ["file.bin.part", "file.bin.part.journal"] {
            let before = try other.directory.read(name)
            let refused = try await other.fetch(server.text("file.bin"), name: name) {
                $0.options.ifExists = .overwrite
            }
            #expect(refused.failure?.message.contains("is the partial file or the journal of") == true)
            #expect(try other.directory.read(name) == before)
        }
        await server.stop()
    }
}
