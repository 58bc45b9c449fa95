// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Platform
import Testing
import TransferTesting

@testable import Daemon

@Suite("Confinement")
struct ConfinementTests {
    /// A root `r`, a directory `o` outside, and links between them.
    private struct Place {
        let directory: TemporaryDirectory
        var root: String { self.directory.path("r") }
        var outside: String { self.directory.path("o") }

        init() throws {
            self.directory = try TemporaryDirectory()
            for name in ["r", "o", "r/sub", "o/sub"] {
                guard mkdir(self.directory.path(name), 0o700) == 0 else { throw Failure() }
            }
            for (target, link) in [
                ("../o", "r/away"), ("sub", "r/near"), ("../r", "o/back"), ("/nonexistent/x", "r/dangling"),
                ("r", "alias"),
            ] {
                guard symlink(target, self.directory.path(link)) == 0 else { throw Failure() }
            }
        }
        struct Failure: Error {}
    }

    @Test(
        "a path counts as what it leads to",
        arguments: [
            ("r", true), ("r/", true), ("r/new/deep/er", true), ("r/./sub", true), ("r/near/x", true),
            ("r/sub/..", true), ("alias/x", true), ("o/back/x", true), ("r/away", false), ("r/away/x", false),
            ("r/..", false), ("r/../o", false), ("r/new/../../o", false), ("r/new/../x", false), ("r/dangling", false),
            ("r/dangling/x", false), ("rx", false), ("o", false), ("", false), ("r/sub/../../o", false),
        ]
    )
    func paths(_ path: String, _ isAllowed: Bool) throws {
        let place = try Place()
        let roots = AllowedRoots(roots: [place.root])
        let result = Result { () throws(ControlError) in try roots.check(place.directory.path(path), for: "dir") }
        switch result {
        case .success: #expect(isAllowed)
        case .failure(let error):
            #expect(!isAllowed)
            #expect(error.code == .forbidden)
            #expect(error.message.hasPrefix("'--dir'"))
        }
    }

    @Test("a root that is a link, a root that is missing, and the root of everything")
    func roots() throws {
        let place = try Place()
        try AllowedRoots(roots: [place.directory.path("alias")]).check(place.root + "/x", for: "dir")
        try AllowedRoots(roots: [place.directory.path("later")]).check(place.directory.path("later/x"), for: "dir")
        try AllowedRoots(roots: ["/"]).check(place.outside, for: "dir")
        for path in ["relative", "", "/a\0b", "/" + String(repeating: "x", count: 5_000)] {
            #expect(throws: ControlError.self) { try AllowedRoots(roots: ["/"]).check(path, for: "dir") }
        }
    }

    @Test(
        "below a root nothing hidden is accessible, and nowhere the state directory",
        arguments: [
            ("r/.ssh/authorized_keys", false), ("r/sub/.x/y", false), ("r/.", true), ("r/a.b", true), ("r/..x", false),
            ("r/new/.x", false), ("hidden/x", false), (".h", true), (".h/x", true), (".h/.x", false),
            ("r/state", false), ("r/state/martlet.sqlite", false), ("near-state/secret", false), ("r/state2", true),
        ]
    )
    func hidden(_ path: String, _ isAllowed: Bool) throws {
        let place = try Place()
        for name in [".h", "r/.ssh", "r/state"] { #expect(mkdir(place.directory.path(name), 0o700) == 0) }
        #expect(symlink("r/.ssh", place.directory.path("hidden")) == 0)
        #expect(symlink("r/state", place.directory.path("near-state")) == 0)
        let roots = AllowedRoots(
            roots: [place.root, place.directory.path(".h")],
            stateDirectory: place.directory.path("near-state")
        )
        let result = Result { () throws(ControlError) in try roots.check(place.directory.path(path), for: "out") }
        switch result {
        case .success: #expect(isAllowed)
        case .failure(let error): #expect(!isAllowed && error.code == .forbidden)
        }
    }

    @Test("over the network dir, out and load-cookies stay inside; over the Unix socket they may be anywhere")
    func methods() async throws {
        let place = try Place()
        let bench = RPCBench(directory: place.root)
        let bad: [JSON] = [
            ["dir": .string(place.outside)], ["dir": .string(place.root + "/away")], ["out": "../o/f"],
            ["out": "away/f"], ["out": .string(place.outside + "/f")], ["dir": "../o"],
            ["load-cookies": .string(place.outside + "/c")], ["load-cookies": "c"],
            ["dir": .string(place.root), "out": "sub/../../o/f"], ["out": ".bashrc"], ["dir": ".ssh"],
            ["out": "sub/.x/f"], ["load-cookies": .string(place.root + "/.cookies")],
        ]
        for options in bad {
            let answer = await bench.call("aria2.addUri", [["http://h/x"], options], from: RPCBench.remote)
            #expect(answer.status == 400, "\(options.text)")
            let own = await bench.call(
                "martlet.add",
                ["entries": [["urls": ["http://h/x"], "options": options]]],
                from: RPCBench.remote
            )
            #expect(own.reason == "forbidden" || own.reason == "badParameter", "\(options.text)")
        }
        #expect(bench.service.counts.waiting == 0)
        let good: [JSON] = [["out": "sub/f"], ["dir": "sub"], ["dir": .string(place.root + "/new"), "out": "f"], [:]]
        for options in good {
            #expect(await bench.call("aria2.addUri", [["http://h/x"], options], from: RPCBench.remote).status == 200)
        }
        let outside: JSON = ["dir": .string(place.outside)]
        #expect(await bench.call("aria2.addUri", [["http://h/x"], outside]).status == 200)
        #expect(try await bench.service.list(ListQuery(offset: -1)).first?.directory == place.outside)
        #expect(try await bench.service.list(ListQuery(offset: 1)).first?.directory == place.root + "/sub")
    }

    @Test("over the network only files inside the allowed directories are sent")
    func uploads() async throws {
        let place = try Place()
        let bench = RPCBench(directory: place.root)
        func add(_ path: String, from caller: Caller) async -> String? {
            let upload: JSON = ["parts": [["bytes": "YQ=="], ["file": .string(path)]]]
            let entry: JSON = ["urls": ["http://h/x"], "upload": upload]
            return await bench.call("martlet.add", ["entries": [entry]], from: caller).reason
        }
        for path in [
            place.outside + "/f", place.root + "/away/f", place.root + "/../o/f", place.root + "/.ssh/id",
            "/etc/passwd",
        ] {
            #expect(await add(path, from: RPCBench.remote) == "forbidden")
            #expect(await add(path, from: RPCBench.local) == nil)
        }
        // A file that cannot be read is refused at once, with the reason.
        let file = place.root + "/sub/f"
        #expect(await add(file, from: RPCBench.remote) == "badParameter")
        #expect(await add(place.root + "/sub", from: RPCBench.remote) == "badParameter")
        let created = try #require(fopen(file, "w"))
        fclose(created)
        #expect(await add(file, from: RPCBench.remote) == nil)
    }

    @Test("changing options and the queue's directory is confined as well")
    func changes() async throws {
        let place = try Place()
        let bench = RPCBench(directory: place.root)
        let outside: JSON = ["dir": .string(place.outside)]
        let added = await bench.call("aria2.addUri", [["http://h/x"]], from: RPCBench.remote)
        let gid = try #require(added.result)
        for options: JSON in [outside, ["out": "../o/f"]] {
            #expect(await bench.call("aria2.changeOption", [gid, options], from: RPCBench.remote).status == 400)
            let own: JSON = ["id": gid, "options": options]
            #expect(await bench.call("martlet.setOptions", own, from: RPCBench.remote).reason == "forbidden")
        }
        #expect(await bench.call("aria2.changeGlobalOption", [outside], from: RPCBench.remote).status == 400)
        #expect(
            await bench.call("martlet.setLimits", ["options": outside], from: RPCBench.remote).reason == "forbidden"
        )
        #expect(bench.service.globalOptions == TransferOptions())
        // Directories chosen by the daemon's own user apply to all clients.
        #expect(await bench.call("aria2.changeGlobalOption", [outside]).result == "OK")
        #expect(await bench.call("aria2.addUri", [["http://h/x"], ["out": "f"]], from: RPCBench.remote).status == 200)
    }

    @Test("servers and proxies that a network caller chooses are denied addresses, also by changes")
    func addresses() async throws {
        let bench = RPCBench(directory: "/d")
        func denied(_ gid: JSON) async throws -> String? {
            let id = try #require(gid.string.flatMap { GID($0) })
            return try await bench.service.record(id).options[.deniedAddresses]
        }
        func add(_ options: JSON, from caller: Caller) async throws -> JSON {
            try #require(await bench.call("aria2.addUri", [["http://h/x"], options], from: caller).result)
        }
        // A caller over the network may only make the rule stricter.
        #expect(try await denied(add([:], from: RPCBench.remote)) == "metadata")
        #expect(try await denied(add(["denied-addresses": "none"], from: RPCBench.remote)) == "metadata")
        #expect(try await denied(add(["denied-addresses": "private"], from: RPCBench.remote)) == "private")
        let own = try #require(
            await bench.call("martlet.add", ["entries": [["urls": ["http://h/x"]]]], from: RPCBench.remote)
                .result?
                .array?
                .first
        )
        #expect(try await denied(own) == "metadata")
        let local = try await add([:], from: RPCBench.local)
        #expect(try await denied(local) == nil)
        // Limits do not choose an address; proxies and URLs do.
        _ = await bench.call("aria2.changeOption", [local, ["max-download-limit": "1K"]], from: RPCBench.remote)
        #expect(try await denied(local) == nil)
        _ = await bench.call("aria2.changeOption", [local, ["all-proxy": "http://p:1"]], from: RPCBench.remote)
        #expect(try await denied(local) == "metadata")
        let strict = try await add(["denied-addresses": "private"], from: RPCBench.local)
        let weaker: JSON = ["denied-addresses": "none"]
        _ = await bench.call("aria2.changeOption", [strict, weaker], from: RPCBench.remote)
        #expect(try await denied(strict) == "private")
        for method in ["aria2.changeUri", "martlet.replaceURI"] {
            let other = try await add([:], from: RPCBench.local)
            let parameters: JSON =
                method == "aria2.changeUri"
                ? [other, 1, ["http://h/x"], ["http://i/y"]] : ["id": other, "urls": ["http://i/y"]]
            #expect(await bench.call(method, parameters, from: RPCBench.remote).status == 200)
            #expect(try await denied(other) == "metadata", "\(method)")
        }
        _ = await bench.call("aria2.changeGlobalOption", [weaker], from: RPCBench.remote)
        #expect(bench.service.globalOptions[.deniedAddresses] == nil)
        #expect(await bench.call("aria2.changeGlobalOption", [["denied-addresses": "private"]]).result == "OK")
        #expect(try await denied(add([:], from: RPCBench.remote)) == "private")
    }
}
