// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferTesting

@testable import Control

@Suite struct DaemonLockTests {
    private let temporary: TemporaryDirectory
    private var path: String { self.temporary.path + "/martletd.lock" }

    init() throws { self.temporary = try TemporaryDirectory() }

    @Test func theSecondDoesNotGetIt() throws {
        let first = try #require(try DaemonLock.take(self.path))
        #expect(try DaemonLock.take(self.path) == nil)
        #expect(DaemonLock.holder(of: self.path) == getpid())
        first.release()
        #expect(DaemonLock.holder(of: self.path) == nil)
        let second = try #require(try DaemonLock.take(self.path))
        #expect(DaemonLock.holder(of: self.path) == getpid())
        second.release()
        second.release()
    }

    @Test func itIsFreeOnceNobodyHasIt() throws {
        do { _ = try #require(try DaemonLock.take(self.path)) }
        #expect(try DaemonLock.take(self.path) != nil)
    }

    @Test func aNumberThatADeadHolderLeftBehindCountsForNothing() throws {
        #expect(DaemonLock.holder(of: self.path) == nil)
        let raw = open(self.path, O_WRONLY | O_CREAT, 0o600)
        // This process lives, and has no lock.
        let text = Array("\(getpid())\n".utf8)
        #expect(write(raw, text, text.count) == text.count)
        #expect(DaemonLock.holder(of: self.path) == nil)
        for garbage in ["", "x\n", "-1\n", "999999999999999\n", "\n"] {
            ftruncate(raw, 0)
            pwrite(raw, Array(garbage.utf8), garbage.utf8.count, 0)
            #expect(DaemonLock.holder(of: self.path) == nil)
        }
        close(raw)
        #expect(try DaemonLock.take(self.path) != nil)
    }

    @Test func askingForTheHolderDoesNotKeepADaemonFromStarting() throws {
        let raw = open(self.path, O_RDWR | O_CREAT, 0o600)
        #expect(flock(raw, LOCK_SH | LOCK_NB) == 0)
        // The checking process releases it within the time that a daemon tries.
        var pauses = 0
        let taken = try DaemonLock.take(self.path) {
            pauses += 1
            guard pauses == 3 else { return }
            // Not left to `close`: a process that another test is just starting may have a copy of the descriptor.
            _ = flock(raw, LOCK_UN)
            close(raw)
        }
        #expect(taken != nil && pauses == 3)
    }

    @Test func aPlaceThatCannotBeWrittenIsAnError() throws {
        #expect(throws: ControlError.self) { try DaemonLock.take(self.temporary.path + "/missing/lock") }
        #expect(symlink("/tmp/elsewhere", self.path) == 0)
        #expect(throws: ControlError.self) { try DaemonLock.take(self.path) }
    }
}
