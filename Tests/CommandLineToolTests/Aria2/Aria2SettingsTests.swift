// SPDX-License-Identifier: Apache-2.0
import Control
import Testing

@testable import CommandLineTool

@Suite("aria2c's arguments") struct Aria2SettingsTests {
    private func error(_ words: String...) -> Aria2Error? {
        do throws(Aria2Error) {
            _ = try Aria2Settings(parsing: words)
            return nil
        } catch {
            return error
        }
    }

    @Test("letters take the rest of their word or the next one")
    func letters() throws {
        let settings = try Aria2Settings(parsing: [
            "-x16", "-s", "8", "-k1M", "-d", "D", "-oN", "-c", "-Z", "-q", "http://h/a",
        ])
        #expect(settings.text("max-connection-per-server") == "16" && settings.text("split") == "8")
        #expect(settings.text("min-split-size") == "1M" && settings.text("dir") == "D" && settings.text("out") == "N")
        #expect(settings.flag("continue") == true && settings.flag("force-sequential") == true)
        #expect(settings.flag("quiet") == true && settings.flag("stderr") == nil)
        #expect(settings.arguments == ["http://h/a"])
    }

    @Test("a flag takes a value only if it is joined")
    func flags() throws {
        let settings = try Aria2Settings(parsing: [
            "--continue=false", "-ctrue", "--allow-overwrite", "false", "-Vfalse",
        ])
        #expect(settings.flag("continue") == true && settings.flag("allow-overwrite") == true)
        #expect(settings.flag("check-integrity") == false && settings.arguments == ["false"])
        #expect(self.error("-cx4")?.text.contains("continue must be either 'true' or 'false'.") == true)
    }

    @Test("long names can be shortened as long as they are unique, and take = or the next word")
    func longNames() throws {
        let settings = try Aria2Settings(parsing: [
            "--max-conn=4", "--min-split-size", "2M", "--header", "A: b", "--header=C: d",
        ])
        #expect(settings.number("max-connection-per-server") == 4 && settings.text("min-split-size") == "2M")
        #expect(settings.downloadOptions[all: .header] == ["A: b", "C: d"])
        let ambiguous = try #require(self.error("--con=4"))
        #expect(ambiguous.status == 28 && ambiguous.text.contains("is ambiguous; possibilities: '--continue'"))
    }

    @Test("after -- everything is a URI, and options may follow URIs")
    func operands() throws {
        let settings = try Aria2Settings(parsing: ["http://h/a", "-q", "--", "-c", "--split=3"])
        #expect(settings.arguments == ["http://h/a", "-c", "--split=3"] && settings.flag("quiet") == true)
        #expect(settings.flag("continue") == nil)
    }

    @Test(
        "wrong options end with status 28 and aria2's words",
        arguments: [
            (["--bogus"], "aria2c: unrecognized option '--bogus'"), (["-W"], "aria2c: invalid option -- 'W'"),
            (["-x"], "option requires an argument -- 'x'"), (["--split"], "option '--split' requires an argument"),
            (["-x17"], "max-connection-per-server must be between 1 and 16."), (["-x=4"], "Bad number =4"),
            (["-k100K"], "min-split-size must be between 1048576 and 1073741824."), (["--split="], "Bad number"),
            (["-j0"], "max-concurrent-downloads must be greater than or equal to 1."),
            (["-t1000"], "between 1 and 600"),
            (["--file-allocation=fast"], "file-allocation must be one of the following: none prealloc trunc falloc"),
            (["--header=nocolon"], "Name: value"), (["--checksum=sha-1=12"], "hexadecimal digits"),
            (["--max-download-limit=99999999999999999999"], "Bad number"), (["--split=+3"], "Bad number +3"),
            (["--no-continue"], "unrecognized option"), (["--out=a\nb"], "line break"),
        ]
    )
    func wrong(words: [String], reason: String) throws {
        do throws(Aria2Error) {
            _ = try Aria2Settings(parsing: words)
            Issue.record("accepted")
        } catch {
            #expect(error.status == 28 && error.text.contains(reason), "\(error.text)")
        }
    }

    @Test("an unknown option names the ones that resemble it")
    func suggestions() {
        #expect(self.error("--contineu")?.text.contains("Did you mean:\n\t--continue") == true)
    }

    @Test(
        "what would change the result is refused by name, with what to do",
        arguments: [
            ("--interface=eth0", "leave it out"), ("-Tx.torrent", "BitTorrent client"), ("-Mx.meta4", "give the URLs"),
            ("-P", "let the shell expand"), ("--rpc-secure", "put a proxy with TLS in front"),
            ("--conditional-get=true", "-c skips"), ("-S", "torrents"),
        ]
    )
    func refused(word: String, remedy: String) throws {
        let error = try #require(self.error(word))
        #expect(error.status == 28 && error.text.contains("is not supported by martlet") && error.text.contains(remedy))
    }

    @Test("the value of a refused option that changes nothing is accepted")
    func harmless() throws {
        let settings = try Aria2Settings(parsing: [
            "-Pfalse", "--rpc-secure=false", "--interface=", "--min-tls-version=TLSv1.2",
        ])
        #expect(settings.values.isEmpty)
    }

    @Test("options of BitTorrent and of aria2's buffers are accepted, and their values are checked")
    func withoutEffect() throws {
        _ = try Aria2Settings(parsing: [
            "--bt-max-peers=9", "--disk-cache=40M", "--seed-ratio=0", "-V", "--async-dns=false",
        ])
        #expect(self.error("--bt-max-peers=many")?.status == 28)
    }

    @Test("the table has every option and every letter of aria2 1.36, each once")
    func complete() {
        let names = Aria2OptionList.all.map(\.name)
        #expect(Set(names).count == names.count && names.count == 197 + 3)
        let letters = Aria2OptionList.all.compactMap(\.letter)
        #expect(String(letters.sorted()) == "DMOPRSTUVZcdhijklmnopqstuvx")
    }

    // MARK: The configuration file

    private func configuration(_ text: String) throws(Aria2Error) -> Aria2Settings {
        try Aria2Command.parse(Array(text.utf8), "aria2.conf")
    }

    @Test("options of the command line replace those of the configuration file")
    func configurationFile() throws {
        let file = try self.configuration(
            "# comment\n\nsplit=4\r\n continue = true \ndir=/data\nheader=A: b\nenable-rpc\n"
                .replacing("enable-rpc", with: "enable-rpc=true")
        )
        let settings = try Aria2Settings(parsing: ["-s8", "http://h/a"]).over(file)
        #expect(settings.number("split") == 8 && settings.flag("continue") == true && settings.text("dir") == "/data")
        #expect(settings.arguments == ["http://h/a"] && settings.flag("enable-rpc") == true)
    }

    @Test("an unknown option of the configuration file is a warning, a wrong value an error that names the file")
    func wrongConfiguration() throws {
        #expect(try self.configuration("bogus=1\nsplit=2").warnings == ["Unknown option: bogus=1"])
        do throws(Aria2Error) {
            _ = try self.configuration("split=x")
            Issue.record("accepted")
        } catch {
            #expect(error.status == 28 && error.text.hasPrefix("Parse error in aria2.conf\n"))
        }
        do throws(Aria2Error) {
            _ = try Aria2Command.parse([0x64, 0x69, 0x72, 0x3D, 0xFF], "aria2.conf")
            Issue.record("accepted")
        } catch {
            #expect(error.text.contains("not UTF-8"))
        }
    }

    @Test("the configuration is looked for where aria2 does")
    func configurationPaths() {
        let home = Aria2Command.configurationPaths { $0 == "HOME" ? "/h" : nil }
        #expect(home == ["/h/.aria2/aria2.conf", "/h/.config/aria2/aria2.conf"])
        let both = Aria2Command.configurationPaths { $0 == "HOME" ? "/h" : $0 == "XDG_CONFIG_HOME" ? "/c" : nil }
        #expect(both == ["/h/.aria2/aria2.conf", "/c/aria2/aria2.conf"])
        #expect(Aria2Command.configurationPaths { _ in nil } == [])
    }

    @Test("the words for the process in the background have no token")
    func wordsOfTheBackground() throws {
        let settings = try Aria2Settings(parsing: [
            "-D", "--enable-rpc", "--rpc-secret=s3cret", "-x4", "--header=A: b", "http://h/-c",
        ])
        #expect(
            settings.words == [
                "--enable-rpc=true", "--header=A: b", "--max-connection-per-server=4", "--", "http://h/-c",
            ]
        )
    }
}
