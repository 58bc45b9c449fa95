// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Testing

@testable import Daemon

@Suite("aria2's options")
struct Aria2OptionTests {
    let bench = RPCBench()

    /// The keys that `aria2.getGlobalOption` of aria2 1.36 returned without any option, and those of a download.
    private static let transferKeys = """
        allow-overwrite allow-piece-length-change always-resume async-dns auto-file-renaming \
        bt-enable-hook-after-hash-check bt-enable-lpd bt-force-encryption bt-hash-check-seed bt-load-saved-metadata \
        bt-max-peers bt-metadata-only bt-min-crypto-level bt-remove-unselected-file bt-request-peer-speed-limit \
        bt-require-crypto bt-save-metadata bt-seed-unverified bt-stop-timeout bt-tracker-connect-timeout \
        bt-tracker-interval bt-tracker-timeout check-integrity conditional-get connect-timeout \
        content-disposition-default-utf8 continue dir dry-run enable-http-keep-alive enable-http-pipelining \
        enable-mmap enable-peer-exchange file-allocation follow-metalink follow-torrent force-save ftp-pasv \
        ftp-reuse-connection ftp-type hash-check-only http-accept-gzip http-auth-challenge http-no-cache \
        lowest-speed-limit max-connection-per-server max-download-limit max-file-not-found max-mmap-limit \
        max-resume-failure-tries max-tries max-upload-limit metalink-enable-unique-protocol \
        metalink-preferred-protocol min-split-size no-file-allocation-limit no-netrc parameterized-uri \
        pause-metadata piece-length proxy-method realtime-chunk-checksum remote-time remove-control-file retry-wait \
        reuse-uri rpc-save-upload-metadata save-not-found seed-ratio split stream-piece-selector timeout \
        uri-selector use-head user-agent
        """
    private static let globalKeys = """
        auto-save-interval bt-detach-seed-only bt-max-open-files ca-certificate check-certificate conf-path \
        console-log-level daemon deferred-input dht-file-path dht-file-path6 dht-listen-port dht-message-timeout \
        disable-ipv6 disk-cache download-result dscp enable-color enable-dht enable-dht6 enable-rpc event-poll help \
        human-readable keep-unfinished-download-result listen-port log-level max-concurrent-downloads \
        max-download-result max-overall-download-limit max-overall-upload-limit min-tls-version netrc-path no-conf \
        optimize-concurrent-downloads peer-agent peer-id-prefix quiet rlimit-nofile rpc-allow-origin-all \
        rpc-listen-all rpc-listen-port rpc-max-request-size rpc-secure save-session-interval server-stat-timeout \
        show-console-readout show-files socket-recv-buffer-size stderr stop summary-interval truncate-console-readout
        """

    private static func keys(_ text: String) -> Set<String> { Set(text.split(separator: " ").map(String.init)) }

    @Test("getOption and getGlobalOption answer all of aria2's keys with texts, set values before defaults")
    func allKeys() async throws {
        let add: JSON = [["http://h/x"], ["pause": "true", "split": "7"]]
        let gid = try #require(await self.bench.call("aria2.addUri", add).result)
        let options = try #require(await self.bench.call("aria2.getOption", [gid]).result?.object)
        #expect(Self.keys(Self.transferKeys).isSubset(of: options.map(\.name)))
        #expect(options.allSatisfy { $0.value.string != nil })
        #expect(options.first { $0.name == "split" }?.value == "7")
        #expect(Set(options.map(\.name)).count == options.count)
        #expect(Self.keys(Self.globalKeys).isDisjoint(with: options.map(\.name)))
        _ = await self.bench.call("aria2.changeGlobalOption", [["save-session": "s", "max-download-limit": "1K"]])
        let global = try #require(await self.bench.call("aria2.getGlobalOption").result?.object)
        let names = Set(global.map(\.name))
        #expect(Self.keys(Self.transferKeys).union(Self.keys(Self.globalKeys)).isSubset(of: names))
        #expect(global.first { $0.name == "save-session" }?.value == "/downloads/s")
        #expect(global.first { $0.name == "max-download-limit" }?.value == "1024")
        #expect(global.first { $0.name == "rpc-listen-port" }?.value == "6800")
        // A client sends them back when it retries a download.
        let again = await self.bench.call("aria2.addUri", [["http://h/x"], .object(options)])
        #expect(again.status == 200, "\(again.json.text)")
    }

    @Test("an unsupported option that would change the result is refused by name; others are ignored")
    func refused() async {
        for name in ["parameterized-uri", "hash-check-only"] {
            for value: JSON in ["true", true] {
                let option = JSON.object([.init(name, value)])
                let add = await self.bench.call("aria2.addUri", [["http://h/x"], option])
                #expect(add.status == 400)
                #expect(add.message?.contains("'--\(name)'. This daemon does not support it: ") == true)
                #expect(await self.bench.call("aria2.changeGlobalOption", [option]).status == 400)
            }
            let off = JSON.object([.init(name, "false"), .init("pause", "true")])
            #expect(await self.bench.call("aria2.addUri", [["http://h/x"], off]).status == 200)
        }
        for name in ["save-cookies", "log", "server-stat-of"] {
            let option = JSON.object([.init(name, "/tmp/x"), .init("pause", "true")])
            #expect(await self.bench.call("aria2.changeGlobalOption", [option]).status == 400)
            #expect(await self.bench.call("aria2.addUri", [["http://h/x"], option]).status == 200)
        }
        let ignored: JSON = ["bt-max-peers": "9", "file-allocation": "falloc", "max-overall-upload-limit": "256K"]
        #expect(await self.bench.call("aria2.changeGlobalOption", [ignored]).result == "OK")
        #expect(self.bench.service.globalOptions.isEmpty)
    }

    @Test("every option of aria2 is in the documentation's table")
    func documented() throws {
        let text = String(decoding: try DocumentTests.file("Docs/rpc.md"), as: UTF8.self)
        let names =
            (Aria2OptionTable.transfer + Aria2OptionTable.global).map(\.name)
            + (Aria2OptionTable.refused + Aria2OptionTable.refusedGlobally).map(\.name)
        for name in names {
            // Options of one prefix are described together.
            let prefixes = ["bt-", "dht-", "ftp-", "metalink-"].filter { name.hasPrefix($0) }.map { $0 + "*" }
            #expect(([name] + prefixes).contains { text.contains("`\($0)`") }, "\(name)")
        }
        for name in OptionName.allCases { #expect(text.contains("`\(name.rawValue)`"), "\(name.rawValue)") }
    }

    @Test("whole numbers may be written with a fraction, as 5.0")
    func floats() async throws {
        let options: JSON = ["split": .number(5), "max-tries": "3.0", "pause": "true"]
        let first = await self.bench.call("aria2.addUri", [["http://h/x"], options, .number(0)])
        let record = try #require(await self.bench.service.list(ListQuery()).first)
        #expect(first.status == 200 && record.options[.split] == "5" && record.options[.maxTries] == "3")
        #expect(
            await self.bench.call("aria2.tellWaiting", [.number(0), .number(10), ["gid"]]).result?.array?.count == 1
        )
        #expect(await self.bench.call("aria2.tellWaiting", [.number(0.5), 10]).status == 400)
        #expect(await self.bench.call("aria2.addUri", [["http://h/x"], ["split": "5.5"]]).status == 400)
        #expect(await self.bench.call("aria2.addUri", [["http://h/x"], ["split": "5."]]).status == 400)
        #expect(try JSON(parsing: "[5.0,5e0,1e300,0.5]").array?.map(\.integer) == [5, 5, nil, nil])
    }

    @Test("over TCP the file of save-session must be in an allowed directory")
    func saveSession() async {
        let bench = RPCBench(directory: "/tmp")
        func set(_ path: String, _ caller: Caller) async -> Int {
            await bench.call("aria2.changeGlobalOption", [["save-session": .string(path)]], from: caller).status
        }
        #expect(await set("/etc/session", RPCBench.remote) == 400)
        #expect(await set("../etc/session", RPCBench.remote) == 400)
        #expect(await set("session", RPCBench.remote) == 200)
        #expect(await set("/etc/session", RPCBench.local) == 200)
        #expect(await set("", RPCBench.remote) == 200)
        // It is not an option of a transfer.
        _ = await bench.call("aria2.addUri", [["http://h/x"], ["save-session": "/tmp/x", "pause": "true"]])
        let gid = try? await bench.service.list(ListQuery()).first?.id.description
        let options = await bench.call("aria2.getOption", [.string(gid ?? "")]).result
        #expect(options?["save-session"] == nil && options?.object != nil)
    }
}
