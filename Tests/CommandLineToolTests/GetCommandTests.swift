// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control
import Testing
import TransferCore
import TransferEngine

@testable import CommandLineTool

@Suite struct GetCommandTests {
    private let url = "http://host/a.bin"

    @Test func defaultsArePolite() throws {
        let plan = try plan(self.url)
        #expect(plan.sources == .urls([try HTTPURL(self.url)]))
        #expect(plan.jobs == 5 && plan.perHost == 5 && plan.rateLimit == nil)
        #expect(plan.options.connections == .adaptive(most: 4))
        #expect(plan.options.directory == "." && plan.options.ifExists == .auto)
        #expect(plan.options.retries == 5 && plan.options.keepBad && !plan.options.durable)
        #expect(plan.options.outageTimeout == .seconds(30))
        #expect(plan.verifiesCertificates && plan.caFile == nil)
        #expect(plan.display == .text && !plan.verbose && plan.drawsProgress)
        #expect(plan.options.fields.map { "\($0): \($1)" } == ["User-Agent: martlet/\(MartletVersion.text)"])
    }

    @Test func theCapForAHostIsTheLargerOfJobsAndConnectionsUnlessGiven() throws {
        #expect(try plan(self.url, "-j", "8").perHost == 8)
        #expect(try plan(self.url, "-x16").perHost == 16)
        #expect(try plan(self.url, "-j2", "--connections", "3").perHost == 3)
        #expect(try plan(self.url, "-j", "64", "-x", "4", "--per-host", "7").perHost == 7)
        #expect(try plan(self.url, "-x16").options.connections == .fixed(16))
    }

    @Test func everyOptionReachesThePlan() throws {
        let digest = String(repeating: "ab", count: 32)
        let plan = try plan(
            self.url,
            "-d",
            "down",
            "-o",
            "sub/b.bin",
            "--if-exists",
            "overwrite",
            "--if-running",
            "fail",
            "--checksum",
            "sha256:" + digest,
            "--digest",
            "md5",
            "--delete-bad",
            "--durable",
            "--min-split-size",
            "64K",
            "--mirror",
            "http://other/a.bin",
            "--priority",
            "foreground",
            "--limit-rate",
            "1.5M",
            "-H",
            "X-One: 1",
            "--header",
            "X-Two:2",
            "--referer",
            "http://r/",
            "--user-agent",
            "agent/1",
            "--cookie",
            "a=b; c=d",
            "--cacert",
            "ca.pem",
            "--allow-downgrade",
            "--max-redirects",
            "3",
            "--outage-timeout",
            "90",
            "--retries",
            "9",
            "--retry-status",
            "500",
            "--retry-status",
            "599",
            "--connect-timeout",
            "1.5",
            "--stall-timeout",
            "2",
            "--max-time",
            "3",
            "--verbose",
            "--json",
            "--no-progress"
        )
        #expect(plan.sources == .mirrors([try HTTPURL(self.url), try HTTPURL("http://other/a.bin")]))
        #expect(plan.options.directory == "down/sub" && plan.name == "b.bin")
        #expect(plan.options.ifExists == .overwrite && plan.options.ifRunning == .fail)
        #expect(plan.expected.map(\.bytes) == [[UInt8](repeating: 0xAB, count: 32)])
        #expect(plan.options.reportDigest == .md5 && !plan.options.keepBad && plan.options.durable)
        #expect(plan.options.minimumSplit == 64 << 10 && plan.rateLimit == 3 << 19)
        #expect(plan.options.priority == .foreground)
        #expect(
            plan.options.fields.map { "\($0): \($1)" } == [
                "X-One: 1", "X-Two: 2", "Referer: http://r/", "User-Agent: agent/1", "Cookie: a=b; c=d",
            ]
        )
        #expect(plan.caFile == "ca.pem" && plan.options.allowsDowngrade && plan.options.maximumRedirects == 3)
        #expect(plan.options.outageTimeout == .seconds(90))
        #expect(plan.options.retries == 9 && plan.options.retryStatuses == [500, 599])
        #expect(plan.options.connectTimeout == .milliseconds(1500))
        #expect(plan.options.stallTimeout == .seconds(2) && plan.options.totalTimeout == .seconds(3))
        #expect(plan.display == .json && plan.verbose && !plan.drawsProgress)
    }

    @Test("--no-cache asks caches, in get and in the daemon, and a field of --header takes precedence")
    func noCache() throws {
        let fields = try plan("http://h/a", "--no-cache", "-H", "pragma: x").options.fields.map { "\($0): \($1)" }
        #expect(fields == ["pragma: x", "Cache-Control: no-cache", "User-Agent: martlet/\(MartletVersion.text)"])
        let added = try #require(try AddCommand.parse(["http://h/a", "--no-cache"]).plan().transfers.first)
        #expect(added.options[.httpNoCache] == "true")
        #expect(try AddCommand.parse(["http://h/a"]).plan().transfers.first?.options.isEmpty == true)
    }

    @Test func standardStreamsAreADash() throws {
        #expect(try plan("-i", "-").sources == .file("-"))
        let plan = try plan(self.url, "-o", "-", "-q", "--insecure")
        #expect(plan.toStandardOutput && plan.name == nil && plan.display == .quiet && !plan.verifiesCertificates)
    }

    @Test func proxiesAreTheEnvironmentsUnlessToldOtherwise() throws {
        #expect(try plan(self.url).proxy == nil)
        #expect(try plan(self.url, "--proxy", "none").proxy?.isDirect == true)
        let plan = try plan(self.url, "--proxy", "http://me:pw@p:3128", "--no-proxy", "a.example,b")
        #expect(plan.proxy == ProxySettings(try ProxyServer("http://me:pw@p:3128")))
        #expect(plan.directHosts == "a.example,b")
    }

    @Test func aDeviceIsWrittenToAndNotReplaced() throws {
        let plan = try plan(self.url, "-o", "/dev/null")
        #expect(plan.device == "/dev/null" && plan.name == nil && !plan.toStandardOutput)
        #expect(try GetCommand.plan([self.url, "-o", "/dev/null.d/file"]).device == nil)
    }

    @Test(arguments: [
        (["http://h/a", "http://h/b", "-o", "name"], "--directory"),
        (["http://h/a", "http://h/b", "-o", "-"], "several URLs"),
        (["-i", "list", "-o", "name"], "several URLs"),
        (["-i", "list", "http://h/a"], "put the URLs into the file"),
        (["http://h/a", "http://h/b", "--checksum", "md5:00112233445566778899aabbccddeeff"], "checksum= lines"),
        (["http://h/a", "http://h/b", "--mirror", "http://m/a"], "input file"),
        (["http://h/a", "--cacert", "x", "--insecure"], "leave one out"),
        (["http://h/a", "--pin", String(repeating: "A", count: 43) + "=", "--insecure"], "leave one out"),
        (["http://h/a", "--pin", "sha256//AAAA"], "SHA-256"), (["http://h/a", "--pin", ""], "SHA-256"),
        (["http://h/a", "--proxy", "socks5://p:1"], "--proxy"),
        (["http://h/a", "-q", "--verbose"], "leave one out"),
        (["http://h/a", "-o", "dir/"], "does not name a file"),
        (["http://h/a", "-j", "0"], "from 1 to 10000"),
        (["http://h/a", "-x", "many"], "whole number"),
        (["http://h/a", "--limit-rate", "5Q"], "500K"),
        (["http://h/a", "--max-time=-1"], "seconds"),
        (["http://h/a", "-H", "no colon"], "Name: value"),
        (["http://h/a", "-H", "Bad Name: x"], "Name: value"),
        (["http://h/a", "-H", "A: b\r\nHost: evil"], "line break"),
        (["http://h/a", "-H", "Range: bytes=0-"], "leave it out"),
        (["http://h/a", "--cookie", "a\nb"], "line break"),
        (["http://h/a", "--checksum", "sha256:abc"], "64 hexadecimal digits"),
        (["http://h/a", "--checksum", "crc32:abc"], "use md5"),
        (["http://h/a", "--if-exists", "maybe"], "auto, update, skip"),
        (["http://h/a", "--if-running", "maybe"], "wait, fail"),
        (["http://h/a", "--priority", "urgent"], "one of"),
        (["ftp://h/a"], "http"),
        ([], "martlet get URL"),
        (["--nope"], "--nope"),
    ])
    func aBadCommandLineExits28AndSaysHowToMendIt(arguments: [String], mend: String) {
        let (status, output, errors) = CommandLineTool.run(["get"] + arguments)
        #expect(status == 28)
        #expect(output.isEmpty)
        #expect(errors.contains(mend), "\(errors)")
    }

    @Test func fewDescriptorsMeanFewFilesAtOnce() throws {
        #expect(OpenFiles.jobs(within: 20_000, connectionsPerFile: 4) == 3328)
        #expect(OpenFiles.jobs(within: 64, connectionsPerFile: 4) == 5)
        #expect(OpenFiles.jobs(within: 24, connectionsPerFile: 4) == 1)
        #expect(try GetCommand.plan([self.url]).connectionsPerFile == 4)
        #expect(try GetCommand.plan([self.url, "-x16"]).connectionsPerFile == 16)
    }

    @Test func aURLWithoutItsCommandIsTold() {
        let (status, _, errors) = CommandLineTool.run(["http://h/a", "-q"])
        #expect(status == 28 && errors.contains("write martlet get http://h/a"))
    }

    @Test func helpAndVersionAndCompletionsSucceed() {
        #expect(CommandLineTool.run(["--version"]).output == "martlet " + MartletVersion.text + "\n")
        #expect(CommandLineTool.run(["get", "--help"]).output.contains("--stall-timeout"))
        for shell in ["bash", "zsh", "fish"] {
            let (status, output, _) = CommandLineTool.run(["--generate-completion-script", shell])
            #expect(status == 0 && output.contains("min-split-size"))
        }
    }

    @Test func theManualPageHasEveryOption() throws {
        let page = try ManualPage.current("get")
        for option in ["jobs", "mirror", "min\\-split\\-size", "if\\-exists", "max\\-time", "no\\-progress", "cacert"] {
            #expect(page.contains("\\-\\-" + option), "\(option)")
        }
        #expect(page.hasPrefix(".TH MARTLET\\-GET 1"))
        #expect(ManualPage.escaped(".dot\n'quote\\") == "\\&.dot\n\\&'quote\\e")
    }
}
