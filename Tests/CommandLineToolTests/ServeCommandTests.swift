// SPDX-License-Identifier: Apache-2.0
import Receiver
import Testing
import TransferCore
import TransferTesting

@testable import CommandLineTool

@Suite("martlet serve")
struct ServeCommandTests {
    private func plan(_ arguments: String...) throws -> ServePlan { try ServeCommand.plan(arguments) }

    @Test("by default listens on loopback, accepts files and replaces none")
    func defaults() throws {
        let plan = try self.plan("dir")
        #expect(plan.configuration.directory == "dir")
        #expect(plan.configuration.listen == ListenAddress(host: "127.0.0.1", port: 8080))
        #expect(plan.configuration.takesUploads)
        #expect(!plan.configuration.overwrites)
        #expect(plan.configuration.records == nil)
        #expect(plan.encryption == .none)
        #expect(plan.log == .standardError)
    }

    @Test("reads the options for proxies and public directories")
    func proxies() throws {
        let plan = try self.plan(
            "dir",
            "--base-path",
            "files/",
            "--trusted-proxy",
            "127.0.0.1",
            "--trusted-proxy",
            "fd00::/8",
            "--public-read"
        )
        #expect(plan.configuration.basePath == "/files")
        #expect(plan.configuration.trustedProxies == ["127.0.0.1", "fd00::/8"])
        #expect(plan.configuration.isPublic)
        #expect(throws: (any Error).self) { try self.plan("dir", "--base-path", "/a b") }
        #expect(throws: (any Error).self) { try self.plan("dir", "--trusted-proxy", "proxy.example") }
        #expect(throws: (any Error).self) { try self.plan("--share", "f", "--public-read") }
    }

    @Test("reads its options")
    func options() throws {
        let plan = try self.plan(
            "dir",
            "--listen",
            "[::1]:0",
            "--overwrite",
            "--max-upload",
            "2G",
            "--max-total",
            "10G",
            "--expiry",
            "60",
            "--idle-timeout",
            "0",
            "--record-header",
            "X-A",
            "--record-cookie",
            "sid",
            "--access-log",
            "none",
            "--tls-self-signed",
            "--share",
            "f",
            "--share-count",
            "3",
            "--share-expires",
            "10",
            "--allow-host",
            "box"
        )
        #expect(plan.configuration.listen == ListenAddress(host: "::1", port: 0))
        #expect(plan.configuration.overwrites)
        #expect(plan.configuration.limits.upload == 2 << 30)
        #expect(plan.configuration.limits.total == 10 << 30)
        #expect(plan.configuration.limits.expiry == .seconds(60))
        // No limit is a year, not none at all.
        #expect(plan.configuration.limits.idle > .seconds(86400))
        #expect(plan.configuration.records?.headers == ["X-A"])
        #expect(plan.configuration.shares == [ShareOffer(path: "f", lifetime: .seconds(10), downloads: 3)])
        #expect(plan.encryption == .selfSigned)
        #expect(plan.log == .none)
    }

    @Test(
        "says what is wrong with what was written",
        arguments: [
            ([], "--share"), (["d", "--listen", "a b"], "address"),
            (["d", "--read-only", "--overwrite"], "leave one out"),
            (["d", "--tls-certificate", "c"], "--tls-key"), (["d", "--share-count", "1"], "--share FILE"),
            (["--share", "f", "--share-uploads"], "directory"),
            (["d", "--read-only", "--share-uploads"], "uploads"),
            (["d", "--record-header", "Cookie"], "credentials"), (["d", "--allow-origin", "https://a*"], "origin"),
            (["d", "--allow-origin", "a.example"], "origin"),
            (["d", "--record-cookie", "martlet-session"], "credential"),
            (["d", "--tls-self-signed", "--tls-certificate", "c", "--tls-key", "k"], "either"),
        ]
    )
    func mistakes(arguments: [String], word: String) {
        let (status, _, errors) = CommandLineTool.run(["serve"] + arguments)
        #expect(status == ExitStatus.usage)
        #expect(errors.contains(word), "\(errors)")
    }

    @Test("prints where it serves, its links and its fingerprint")
    func greeting() async throws {
        let directory = try TemporaryDirectory()
        try directory.write([1], to: "f x")
        var configuration = ReceiverConfiguration(directory: directory.path)
        configuration.listen = ListenAddress(host: "127.0.0.1", port: 0)
        configuration.shares = [ShareOffer(path: directory.path("f x"))]
        let receiver = try await Receiver.start(configuration)
        let lines = ServeText.greeting(receiver, configuration, certificate: nil).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0] == "serving \(directory.path) at http://127.0.0.1:\(receiver.address.port)/")
        #expect(lines[1].contains("/.martlet-share/"))
        #expect(lines[1].hasSuffix("/f%20x"))
        await receiver.stop()
    }

    @Test("reports by its exit status why it did not start")
    func statuses() {
        #expect(ExitStatus.of(ReceiverError(.address, "")) == 6)
        #expect(ExitStatus.of(ReceiverError(.directory, "")) == 15)
        #expect(ExitStatus.of(ReceiverError(.credentials, "")) == ExitStatus.usage)
        #expect(ExitStatus.of(ReceiverError(.busy, "")) == 1)
    }

    @Test("warns where what is sent can be read on the way")
    func warnings() throws {
        var configuration = ReceiverConfiguration(directory: ".")
        configuration.listen.host = "0.0.0.0"
        #expect(ServeText.warnings(configuration).count == 1)
        #expect(ServeText.warnings(configuration).first?.contains("not encrypted") == true)
    }

    @Test("says that an address is for this machine only, and how to be reachable")
    func onlyHere() throws {
        var configuration = ReceiverConfiguration(directory: ".")
        configuration.listen = ListenAddress(port: 9000)
        #expect(
            ServeText.warnings(configuration) == [
                "this address is for this machine only; to be reachable for others, add "
                    + "--listen 0.0.0.0:9000 --tls-self-signed --token-file FILE"
            ]
        )
        // A link alone needs no credentials.
        configuration.directory = nil
        configuration.shares = [ShareOffer(path: "f", lifetime: nil, downloads: nil)]
        #expect(
            ServeText.warnings(configuration) == [
                "the addresses and links are for this machine only; to be reachable for others, add "
                    + "--listen 0.0.0.0:9000 --tls-self-signed"
            ]
        )
        // A proxy makes it reachable.
        configuration.basePath = "/files"
        #expect(ServeText.warnings(configuration).isEmpty)
    }

    @Test("takes no time for no limit, and a name for the cookie that can be one")
    func zero() throws {
        let plan = try self.plan("dir", "--expiry", "0", "--share", "f", "--share-expires", "0")
        #expect(plan.configuration.limits.expiry > .seconds(366 * 86400))
        #expect(plan.configuration.shares.first?.lifetime == nil)
        #expect(throws: (any Error).self) { try self.plan("dir", "--session-cookie", "a=b") }
    }

    @Test("names an address that can be reached where it listens on all")
    func reachable() {
        #expect(LocalAddress.reachable(for: "127.0.0.1") == "127.0.0.1")
        #expect(LocalAddress.reachable(for: "box") == "box")
        #expect(!LocalAddress.reachable(for: "0.0.0.0").contains("%"))
    }

    @Test("keeps its self-signed certificate in the state directory, and is accepted by get and put that name it")
    func certificate() throws {
        let directory = try TemporaryDirectory()
        let state = directory.path("state")
        let environment = { (name: String) -> String? in name == "MARTLET_STATE_DIR" ? state : nil }
        let plan = try self.plan("dir", "--tls-self-signed", "--allow-host", "box.example")
        let first = try #require(try ServeCertificate.load(plan, environment: environment))
        let again = try #require(try ServeCertificate.load(plan, environment: environment))
        #expect(first.certificate.chain == again.certificate.chain && first.fingerprint == again.fingerprint)
        let path = try #require(first.path)
        #expect(path.hasPrefix(state + "/"))
        // Without a state directory, it is for one run.
        #expect(try ServeCertificate.load(plan, environment: { _ in nil })?.path == nil)

        let pin = try #require(first.fingerprint?.pin)
        for run in [
            try GetCommand.plan(["https://h/a", "--pin", pin]),
            try PutCommand.plan(["f", "https://h/a", "--pin", pin]).run,
        ] {
            let trust = EngineAssembly.trust(run)
            #expect(trust.pins == [try TLSOptions.Pin(pin)] && trust.verification == .pinned)
        }
        let both = EngineAssembly.trust(try GetCommand.plan(["https://h/a", "--pin", pin, "--cacert", path]))
        #expect(both.roots == .pemFile(path) && both.verification == .full && both.pins.count == 1)
    }
}
