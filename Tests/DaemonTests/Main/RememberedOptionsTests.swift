// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Testing
import TransferTesting

@testable import Daemon

@Suite("Remembered options")
struct RememberedOptionsTests {
    private let temporary: TemporaryDirectory
    private let state: StateDirectory
    private let options = RememberedOptions(["--dir=/a b", "--on-finish=echo '\u{E9}'", "--listen=0.0.0.0:6800"])

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.state = try StateDirectory(self.temporary.path("state"))
        try self.state.make()
    }

    private func write(_ text: String, mode: mode_t = 0o600) throws {
        try self.temporary.write(Array(text.utf8), to: "state/daemon-options.json")
        #expect(chmod(self.state.optionsPath, mode) == 0)
    }

    private func error() -> ControlError? {
        do throws(ControlError) {
            _ = try RememberedOptions.read(self.state)
            return nil
        } catch {
            return error
        }
    }

    @Test("They are read as they were stored, for the user alone")
    func roundTrip() throws {
        #expect(try RememberedOptions.read(self.state) == nil)
        try self.options.store(self.state)
        #expect(try RememberedOptions.read(self.state) == self.options)
        #expect(TemporaryDirectory.permissions(of: self.state.optionsPath) == 0o600)
        #expect(self.options.text == "'--dir=/a b' '--on-finish=echo '\\''\u{E9}'\\''' --listen=0.0.0.0:6800")
        var more = self.options
        more.hadToken = true
        try more.store(self.state)
        #expect(try RememberedOptions.read(self.state) == more)
    }

    @Test("The same options are not written again, and none remove the file")
    func writes() throws {
        func inode() -> UInt64 {
            var status = stat()
            return lstat(self.state.optionsPath, &status) == 0 ? UInt64(status.st_ino) : 0
        }
        try self.options.store(self.state)
        let first = inode()
        try self.options.store(self.state)
        #expect(inode() == first && first != 0)
        try RememberedOptions([]).store(self.state)
        #expect(inode() == 0)
        #expect(try !RememberedOptions.forget(self.state))
        try self.options.store(self.state)
        #expect(try RememberedOptions.forget(self.state))
        #expect(try RememberedOptions.read(self.state) == nil)
    }

    @Test(
        "A damaged file, or one of a later version, is an error that says how to forget it",
        arguments: [
            "", "{", "null", "{\"version\":2,\"arguments\":[],\"hadToken\":false}", "{\"version\":1}",
            "{\"version\":1,\"arguments\":[1],\"hadToken\":false}",
            "{\"version\":1,\"arguments\":\"--dir=/\",\"hadToken\":false}",
            "{\"version\":1,\"arguments\":[\"a\\u0000b\"],\"hadToken\":false}",
        ]
    )
    func damaged(text: String) throws {
        try self.write(text)
        let error = try #require(self.error())
        #expect(error.code == .badParameter && error.message.contains(self.state.optionsPath))
        #expect(error.remedy.contains("--forget-options") && error.remedy.contains("--state-dir \(self.state.path)"))
    }

    @Test("Options that another user may have written are not used, because they name commands")
    func writable() throws {
        let text = String(decoding: self.options.bytes, as: UTF8.self)
        for mode: mode_t in [0o620, 0o602] {
            try self.write(text, mode: mode)
            #expect(self.error()?.code == .forbidden)
        }
        try self.write(text, mode: 0o644)
        #expect(self.error() == nil)
        #expect(rename(self.state.optionsPath, self.temporary.path("other")) == 0)
        #expect(symlink(self.temporary.path("other"), self.state.optionsPath) == 0)
        #expect(self.error()?.code == .forbidden)
    }

    @Test("A directory that is gone is an error of the start; one of the command line is not")
    func directories() throws {
        var settings = DaemonSettings(state: self.state, directory: self.temporary.path("gone"))
        try settings.checkRemembered()
        settings.rememberedOptions = self.options
        let error = #expect(throws: ControlError.self) { try settings.checkRemembered() }
        #expect(error?.description.contains("gone") == true)
        #expect(error?.description.contains(self.state.optionsPath) == true)
        settings.directory = self.temporary.path
        try settings.checkRemembered()
    }

    @Test(
        "Only addresses beyond this machine are exposed",
        arguments: [
            ("0.0.0.0:1", "0.0.0.0:1"), ("[::]:1", "[::]:1"), ("192.0.2.1:1", "192.0.2.1:1"), ("127.0.0.1:1", nil),
            ("127.9.9.9:1", nil), ("[::1]:1", nil), ("LOCALHOST:1", nil), ("6800", nil), ("none", nil),
        ] as [(String, String?)]
    )
    func exposure(text: String, address: String?) throws {
        #expect(try DaemonSettings.Listening(text).exposedAddress == address)
    }
}
