// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import CommandLineTool

private func put(_ arguments: String...) throws -> PutPlan { try PutCommand.plan(arguments) }

@Suite("martlet put's arguments")
struct PutCommandTests {
    @Test("files go to the URL, which in a slash gets their names, escaped")
    func targets() throws {
        let one = try put("a/b c.bin", "http://host/in/x")
        #expect(one.items.map(\.url.description) == ["http://host/in/x"] && one.method == "PUT")
        let many = try put("a/b c.bin", "ä:%.txt", "http://host/in/")
        #expect(many.items.map(\.url.description) == ["http://host/in/b%20c.bin", "http://host/in/%C3%A4%3A%25.txt"])
        #expect(many.items.allSatisfy { $0.collection?.description == "http://host/in/" })
        #expect(many.items.map(\.name) == ["a/b c.bin", "ä:%.txt"])
        let patched = try put("-X", "PATCH", "a", "b", "http://host/in/")
        #expect(patched.items.map(\.url.description) == ["http://host/in/a", "http://host/in/b"])
        let posted = try put("-X", "POST", "a", "b", "http://host/in/")
        #expect(posted.items.map(\.url.description) == ["http://host/in/", "http://host/in/"])
    }

    @Test("a form is one POST of fields and files")
    func forms() throws {
        let plan = try put("--form", "a=b=c", "--form", "f=@x/y.bin", "http://host/form")
        #expect(plan.method == "POST" && plan.items.count == 1)
        #expect(
            plan.items[0].content
                == .form([
                    PutPlan.Field(name: "a", value: "b=c", isFile: false),
                    PutPlan.Field(name: "f", value: "x/y.bin", isFile: true),
                ])
        )
    }

    @Test("what is said of an interrupted run is true of it")
    func interrupted() throws {
        let promise = "to resume"
        #expect(try put("a", "http://host/x").run.afterStop.contains(promise))
        for arguments in [["-"], ["a", "--no-state"], ["a", "--protocol", "none"], ["--form", "a=@b"]] {
            #expect(try !PutCommand.plan(arguments + ["http://host/x"]).run.afterStop.contains(promise))
        }
    }

    @Test("standard input that is a file has the length it has now; one that the kernel makes up has none")
    func standardInput() async throws {
        let directory = try TemporaryDirectory()
        try directory.write([UInt8](repeating: 1, count: 10), to: "log")
        let file = open(directory.path("log"), O_RDONLY | O_CLOEXEC)
        let source = DescriptorSource(file)
        try directory.write([UInt8](repeating: 1, count: 30), to: "log")
        #expect(try await self.content(of: source).count == 10 && source.length == 10)
        close(file)
        #if os(Linux)
        let made = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        let unknown = DescriptorSource(made)
        #expect(try await !self.content(of: unknown).isEmpty && unknown.length == nil)
        close(made)
        #endif
        await #expect(throws: TransferFailure.self) { try await self.content(of: DescriptorSource(-1)) }
    }

    private func content(of source: DescriptorSource) async throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let piece = await withCheckedContinuation { continuation in
                source.next { continuation.resume(returning: $0) }
            }
            guard let bytes = try piece.get() else { return all }
            all += bytes
        }
    }

    @Test("options say how")
    func options() throws {
        let plan = try put(
            "--protocol",
            "ietf-5",
            "--checksum",
            "sha-256",
            "-j",
            "3",
            "--limit-rate",
            "2M",
            "--no-expect",
            "--cookie",
            "a=b",
            "-H",
            "X-Key: 1",
            "--type",
            "text/plain",
            "--retries",
            "7",
            "-",
            "http://host/x"
        )
        #expect(plan.way == .by(.ietf5) && plan.checksum == .sha256 && plan.run.jobs == 3 && plan.run.perHost == 3)
        #expect(plan.run.rateLimit == 2 << 20 && !plan.asksFirst && plan.type == "text/plain")
        #expect(plan.run.options.retries == 7 && plan.items[0].content == .standardInput)
        #expect(plan.run.options.fields.contains { $0 == ("Cookie", "a=b") })
        #expect(plan.run.options.fields.contains { $0 == ("X-Key", "1") })
    }

    @Test(
        "what makes no sense is refused with what to write instead",
        arguments: [
            (["http://host/x"], "no file"), (["file"], ""), (["a", "b", "http://host/x"], "slash"),
            (["-", "http://host/"], "no name"), (["-", "-", "http://host/"], "name"), (["a", "ftp://host/"], "URL"),
            (["--form", "x", "http://host/"], "name=value"), (["--form", "a=b", "f", "http://host/"], "--form"),
            (["--protocol", "x", "a", "http://host/"], "a protocol"), (["-X", "a b", "a", "http://host/"], "method"),
            (["--quiet", "--verbose", "a", "http://host/"], "leave one out"),
            (["missing/", "http://host/"], "no such directory"), ([".", "http://host/x"], "is a directory"),
            (["--answer", "--json", "a", "http://host/"], "--answer"),
            (["-i", "list", "http://host/x"], "slash"), (["-i", "-", "-", "http://host/"], "once"),
        ] as [([String], String)]
    )
    func refusals(arguments: [String], hint: String) {
        let (status, _, errors) = CommandLineTool.run(["put"] + arguments)
        #expect(status == ExitStatus.usage && errors.contains(hint), "\(errors)")
    }
}
