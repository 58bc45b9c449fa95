// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferTesting

@testable import Control

@Suite struct StateDirectoryTests {
    private let temporary: TemporaryDirectory

    init() throws { self.temporary = try TemporaryDirectory() }

    @Test func theFirstOfTheFourPlacesThatIsNamedIsTaken() throws {
        let home = ["HOME": "/no/home"]
        let xdg = home.merging(["XDG_STATE_HOME": "/no/xdg"]) { $1 }
        let own = xdg.merging(["MARTLET_STATE_DIR": "/no/own"]) { $1 }
        #expect(try StateDirectory("/no/chosen", environment: { own[$0] }).path == "/no/chosen")
        #expect(try StateDirectory(environment: { own[$0] }).path == "/no/own")
        #expect(try StateDirectory(environment: { xdg[$0] }).path == "/no/xdg/martlet")
        #expect(try StateDirectory(environment: { home[$0] }).path == "/no/home/.local/state/martlet")
        let relative = ["HOME": "/no/home", "XDG_STATE_HOME": "state"]
        #expect(try StateDirectory(environment: { relative[$0] }).path == "/no/home/.local/state/martlet")
        #expect(throws: ControlError.self) { try StateDirectory(environment: { _ in nil }) }
        #expect(throws: ControlError.self) { try StateDirectory("", environment: { own[$0] }) }
    }

    @Test func everySpellingOfADirectoryIsTheSame() throws {
        let real = self.temporary.path + "/real"
        #expect(mkdir(real, 0o700) == 0)
        #expect(symlink(real, self.temporary.path + "/link") == 0)
        let plain = try StateDirectory(real + "/state")
        #expect(try StateDirectory(self.temporary.path + "//link/./state/") == plain)
        let relative = try StateDirectory("state")
        #expect(relative.path.hasPrefix("/") && relative.path.hasSuffix("/state"))
    }

    @Test func itIsMadeForItsOwnerAlone() throws {
        let state = try StateDirectory(self.temporary.path + "/a/b/c")
        try state.make()
        #expect(try self.mode(of: state.path) == 0o700)
        #expect(try self.mode(of: self.temporary.path + "/a") == 0o700)
        try state.make()
        #expect(state.databasePath == state.path + "/queue.sqlite")
        #expect(state.lockPath == state.path + "/martletd.lock")
        #expect(state.secretPath == state.path + "/rpc-secret")
        #expect(state.logPath == state.path + "/martletd.log")
        #expect(state.sessionsPath == state.path + "/sessions")
        #expect(state.socketPath == state.path + "/martletd.sock")
    }

    @Test(arguments: [0o770, 0o707, 0o777]) func oneThatOthersCanWriteToIsRefused(mode: Int) throws {
        let state = try StateDirectory(self.temporary.path + "/state")
        try state.make()
        #expect(chmod(state.path, mode_t(mode)) == 0)
        let error = #expect(throws: ControlError.self) { try state.make() }
        #expect(error?.code == .forbidden)
        #expect(error?.remedy.contains("chmod go-w '\(state.path)'") == true)
        #expect(chmod(state.path, 0o755) == 0)
        try state.make()
    }

    @Test func aFileInItsPlaceIsRefused() throws {
        let path = self.temporary.path + "/state"
        close(creat(path, 0o600))
        #expect(throws: ControlError.self) { try StateDirectory(path).make() }
        #expect(throws: ControlError.self) { try StateDirectory(path + "/below").make() }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a directory away")) func onesOfOthersAreRefused() throws {
        let state = try StateDirectory(self.temporary.path + "/state")
        try state.make()
        #expect(chown(state.path, 12345, 12345) == 0)
        let error = #expect(throws: ControlError.self) { try state.make() }
        #expect(error?.code == .forbidden)
        #expect(error?.message.contains("12345") == true)
    }

    @Test func aSocketWhosePathWouldBeTooLongLiesInTheRuntimeDirectory() throws {
        let runtime = self.temporary.path + "/run"
        #expect(mkdir(runtime, 0o700) == 0)
        let long = self.temporary.path + "/" + String(repeating: "x", count: 100)
        let state = try StateDirectory(long, environment: { $0 == "XDG_RUNTIME_DIR" ? runtime : nil })
        #expect(state.hasDistantSocket)
        #expect(state.socketPath.hasPrefix(runtime + "/martlet-"))
        #expect(state.socketPath.utf8.count <= StateDirectory.longestSocketPath)
        try state.make()
        #expect(try state.makeSocketDirectory() == state.socketPath)
        #expect(try self.mode(of: PosixPath.parent(state.socketPath)) == 0o700)
        // A client whose runtime directory is another finds the daemon's socket all the same.
        #expect(try StateDirectory(long, environment: { _ in nil }).socketPath == state.socketPath)
        let other = try StateDirectory(long + "y", environment: { $0 == "XDG_RUNTIME_DIR" ? runtime : nil })
        #expect(other.socketPath != state.socketPath)
    }

    @Test func withoutARuntimeDirectoryItLiesInTmpUnderTheUsersNumber() throws {
        let state = try StateDirectory("/no/" + String(repeating: "x", count: 100), environment: { _ in nil })
        #expect(state.socketPath.hasPrefix("/tmp/martlet-\(geteuid())-"))
        let runtime = "/run/" + String(repeating: "y", count: 80)
        let crowded = try StateDirectory("/no/" + String(repeating: "x", count: 100), environment: { _ in runtime })
        #expect(crowded.socketPath == state.socketPath)
    }

    @Test func aRuntimeDirectoryThatSomebodyElseCouldHaveMadeIsRefused() throws {
        let runtime = self.temporary.path
        let long = self.temporary.path + "/" + String(repeating: "x", count: 100)
        let state = try StateDirectory(long, environment: { $0 == "XDG_RUNTIME_DIR" ? runtime : nil })
        try state.make()
        let directory = PosixPath.parent(state.socketPath)
        #expect(symlink("/tmp", directory) == 0)
        #expect(throws: ControlError.self) { try state.makeSocketDirectory() }
        #expect(throws: ControlError.self) { try state.checkSocketDirectory() }
        unlink(directory)
        #expect(mkdir(directory, 0o755) == 0 && chmod(directory, 0o755) == 0)
        let error = #expect(throws: ControlError.self) { try state.makeSocketDirectory() }
        #expect(error?.code == .forbidden)
        #expect(chmod(directory, 0o700) == 0)
        _ = try state.makeSocketDirectory()
        try state.checkSocketDirectory()
    }

    private func mode(of path: String) throws -> mode_t {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        return status.st_mode & 0o777
    }
}
