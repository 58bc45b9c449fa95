// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import CommandLineTool

@Suite("aria2c's plan") struct Aria2PlanTests {
    private func plan(_ words: String...) throws -> Aria2Plan {
        try Aria2Plan(try Aria2Settings(parsing: words), in: "/base")
    }

    private func requests(_ plan: Aria2Plan) throws -> [DownloadRequest] {
        guard case .entries(let entries) = plan.sources else { return [] }
        let run = try plan.run()
        return try entries.map { try plan.request($0, run.options, CookieFiles()).0 }
    }

    private func request(_ words: String...) throws -> DownloadRequest {
        let plan = try Aria2Plan(try Aria2Settings(parsing: words), in: "/base")
        return try #require(try self.requests(plan).first)
    }

    @Test("several URLs are mirrors of one file, with -Z files")
    func mirrors() throws {
        let one = try self.requests(try self.plan("http://a/x", "http://b/x", "-o", "y"))
        #expect(one.count == 1 && one[0].sources.count == 2 && one[0].name == "y")
        let two = try self.requests(try self.plan("-Z", "-o", "y", "http://a/x", "http://b/x"))
        #expect(two.count == 2 && two[0].name == nil)
    }

    @Test("a mirror of another protocol is left out with a warning; without another URL it is aria2's error")
    func otherProtocols() throws {
        let plan = try self.plan("ftp://a/x", "http://b/x")
        #expect(try self.requests(plan)[0].sources.map(\.text) == ["http://b/x"])
        #expect(plan.warnings.count == 1 && plan.warnings[0].contains("FTP and SFTP are not supported"))
        for (word, reason) in [
            ("magnet:?xt=urn:btih:00", "BitTorrent is not supported"), ("sftp://h/x", "FTP"),
            ("x.torrent", "BitTorrent"),
            ("x.meta4", "Metalink"), ("nothing", "no scheme"),
        ] {
            do throws(Aria2Error) {
                _ = try Aria2Plan(try Aria2Settings(parsing: [word]), in: "/base")
                Issue.record("accepted \(word)")
            } catch {
                #expect(error.status == 1 && error.text.contains("Unrecognized URI or unsupported protocol: \(word)"))
                #expect(error.text.contains(reason), "\(error.text)")
            }
        }
    }

    @Test("without a URL there is nothing to do, except with the RPC")
    func withoutURLs() throws {
        #expect(throws: Aria2Error.self) { try self.plan("-c") }
        #expect(try self.plan("--enable-rpc").isDaemon)
        #expect(try self.plan("-i", "list", "http://ignored/").sources == .file("list"))
    }

    @Test(
        "the number of connections is that of --split, and of --max-connection-per-server for each mirror",
        arguments: [
            (["http://a/x"], 1), (["-x16", "http://a/x"], 5), (["-x16", "-s16", "http://a/x"], 16),
            (["-s16", "http://a/x"], 1), (["http://a/x", "http://b/x"], 2), (["http://a/x", "http://a/y"], 1),
            (["-x4", "-s1000", "http://a/x"], 4),
        ]
    )
    func connections(words: [String], count: Int) throws {
        let plan = try Aria2Plan(try Aria2Settings(parsing: words), in: "/base")
        #expect(try self.requests(plan)[0].options.connections == .fixed(count))
    }

    @Test(
        "existing files are treated as aria2 does",
        arguments: [
            ([], IfExistsRule.rename, false), (["--auto-file-renaming=false"], .fail, true), (["-c"], .resume, false),
            (["-c", "--auto-file-renaming=false"], .resume, true), (["--allow-overwrite"], .overwrite, false),
            (["-c", "--allow-overwrite=true", "--auto-file-renaming=false"], .overwrite, true),
        ]
    )
    func existing(words: [String], rule: IfExistsRule, isExact: Bool) throws {
        let plan = try Aria2Plan(try Aria2Settings(parsing: words + ["http://a/x"]), in: "/base")
        let request = try self.requests(plan)[0]
        #expect(request.options.ifExists == rule && request.nameIsExact == isExact && request.namesByFinalURL)
    }

    @Test("yt-dlp's arguments")
    func ytdlp() throws {
        let plan = try self.plan(
            "-c",
            "--no-conf",
            "--console-log-level=warn",
            "--summary-interval=0",
            "--download-result=hide",
            "--http-accept-gzip=true",
            "--file-allocation=none",
            "-x16",
            "-j16",
            "-s16",
            "--min-split-size",
            "1M",
            "--header",
            "Accept: a/b",
            "--header",
            "User-Agent: U",
            "--max-overall-download-limit",
            "100",
            "--check-certificate=false",
            "--remote-time=true",
            "--show-console-readout=false",
            "--auto-file-renaming=false",
            "--dir",
            "./sub dir/",
            "--out",
            "./name.mp4.part",
            "--",
            "https://h/v?x=1"
        )
        let run = try plan.run()
        #expect(run.jobs == 16 && run.perHost == 256 && run.rateLimit == 100 && !run.verifiesCertificates)
        #expect(run.options.minimumSplit == 1 << 20)
        #expect(run.options.fields.map { "\($0.0): \($0.1)" } == ["Accept: a/b", "User-Agent: U"])
        #expect(plan.output.results == .hide && plan.output.level == .warn && !plan.output.showsReadout)
        let request = try self.requests(plan)[0]
        #expect(request.name == "name.mp4.part" && request.directory == "./sub dir")
        #expect(request.options.connections == .fixed(16))
    }

    @Test("apt-fast's arguments: -m0 tries without end, but an outage ends")
    func aptFast() throws {
        let plan = try self.plan(
            "-c",
            "-j",
            "5",
            "-x",
            "5",
            "--min-split-size=1M",
            "-i",
            "l",
            "--connect-timeout=600",
            "--timeout=600",
            "-m0"
        )
        let options = try plan.run().options
        #expect(options.retries == 1_000_000 && !options.retriesIncludeOutages && options.outageTimeout == .seconds(30))
        #expect(options.stallTimeout == .seconds(600) && options.connectTimeout == .seconds(600))
        #expect(try self.plan("-m3", "http://h/").run().options.retries == 2)
    }

    @Test("an entry's options replace those of the command line")
    func entries() throws {
        let plan = try self.plan("-x2", "-s2", "--user-agent=U", "--max-download-limit=1M", "--referer=*", "-i", "l")
        var parser = InputFileParser(for: .aria2c)
        var events: [InputFileParser.Event] = []
        let text = """
            ftp://f/x\thttp://a/x
             out=./d/n
             split=1
             max-download-limit=2K
             user-agent=V
             continue=true
             auto-file-renaming=false
             gid=00000000000000ab
             pause=true
             bt-max-peers=3
            """
        for line in text.utf8.split(separator: 0x0A) { events += parser.take(.text(Array(line))) }
        events += parser.finish()
        guard case .warning(_, let warning) = try #require(events.first),
            case .entry(let entry) = try #require(events.last)
        else {
            Issue.record("\(events)")
            return
        }
        #expect(events.count == 2 && warning.contains("ftp://f/x"))
        let run = try plan.run()
        let (request, id) = try plan.request(entry, run.options, CookieFiles())
        #expect(id.description == "00000000000000ab" && request.userInfo as? GID == id)
        #expect(request.name == "n" && request.directory == "/base/./d")
        #expect(request.options.connections == .fixed(1) && request.options.rateLimit == 2048)
        #expect(request.options.ifExists == .resume && request.nameIsExact)
        #expect(
            request.fields.contains { $0 == ("User-Agent", "V") }
                && request.fields.contains { $0 == ("Referer", "http://a/x") }
        )
        #expect(!request.options.fields.contains { $0.0 == "User-Agent" })
    }

    @Test("credentials, cookies and a dry run become parts of the request")
    func requestParts() throws {
        let temporary = try TemporaryDirectory()
        let file = temporary.path + "/cookies.txt"
        try temporary.write(
            Array("# Netscape HTTP Cookie File\na\tFALSE\t/\tFALSE\t0\tname\tvalue\n".utf8),
            to: "cookies.txt"
        )
        let plan = try self.plan(
            "--http-user=u",
            "--http-passwd=p",
            "--load-cookies=\(file)",
            "--save-cookies=saved",
            "--certificate=c.pem",
            "--private-key=k.pem",
            "--netrc-path=n",
            "--http-no-cache",
            "http://a/x"
        )
        let access = try plan.run().access
        #expect(access.login == AccessPlan.Login(name: "u", password: "p") && access.netrcPath == "n")
        #expect(access.loadCookies == file && access.cookieJar == "saved")
        #expect(access.certificate == "c.pem" && access.key == "k.pem")
        #expect(try self.plan("-n", "--netrc-path=n", "http://a/x").run().access.netrcPath == nil)
        let request = try #require(try self.requests(plan).first)
        #expect(request.fields.contains { $0 == ("Pragma", "no-cache") })
        #expect(!request.fields.contains { $0.0 == "Authorization" || $0.0 == "Cookie" })
        // Those of a file of a list are its own.
        guard case .entries(var entries) = plan.sources else { return }
        entries[0].options[.httpUser] = "v"
        entries[0].options[.loadCookies] = file
        let own = try plan.request(entries[0], plan.run().options, CookieFiles()).0
        #expect(own.fields.contains { $0 == ("Authorization", "Basic djo=") })
        #expect(own.fields.contains { $0 == ("Cookie", "name=value") })
        entries[0].options[.loadCookies] = file + ".missing"
        #expect(throws: SyntaxError.self) { try plan.request(entries[0], plan.run().options, CookieFiles()) }
        #expect(try self.request("--dry-run", "http://a/x").method == "HEAD")
    }

    @Test("the name of --out stays below the directory")
    func names() throws {
        #expect(try Aria2Plan.name("./a/b") == "a/b" && Aria2Plan.name("/a") == "a")
        for name in ["", "/", "a/", "..", "a/.."] { #expect(throws: Aria2Error.self) { try Aria2Plan.name(name) } }
    }

    // MARK: The RPC

    @Test("the RPC listens on loopback at aria2's port, with a generated token unless there is one")
    func daemon() throws {
        let settings = try Aria2Service.settings(try self.plan("--enable-rpc", "-x4", "--save-session=s", "-j3"))
        #expect(settings.listening == .tcp(host: "127.0.0.1", port: 6800, isDefault: false))
        guard case .own = settings.secret else {
            Issue.record("another token")
            return
        }
        #expect(settings.state.path.hasSuffix("/aria2c-6800") && settings.directory == "/base")
        #expect(settings.options[.maxConnectionPerServer] == "4" && settings.options[.maxConcurrentDownloads] == "3")
        #expect(settings.options[.saveSession]?.hasPrefix("/") == true)
        let open = try Aria2Service.settings(
            try self.plan(
                "--enable-rpc",
                "--rpc-listen-all",
                "--rpc-listen-port=7000",
                "--rpc-secret=token",
                "--rpc-allow-origin-all",
                "--on-download-complete=/bin/true"
            )
        )
        #expect(open.listening == .tcp(host: "0.0.0.0", port: 7000, isDefault: false))
        #expect(open.allowedOrigins.contains("*"))
        #expect(open.hooks.aria2 == [.complete: "/bin/true"])
        guard case .token("token") = open.secret else {
            Issue.record("another token")
            return
        }
    }

    @Test("options that the daemon does not have are refused together with the RPC")
    func daemonRefuses() throws {
        #expect(throws: ControlError.self) {
            try Aria2Service.settings(try self.plan("--enable-rpc", "--check-certificate=false"))
        }
    }
}
