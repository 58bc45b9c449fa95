// SPDX-License-Identifier: Apache-2.0
/// File systems that are full or read-only: the transfers that found them so wait.
extension EngineMachine {
    /// A file system on which a transfer could not write.
    package struct FileSystem: Hashable, Sendable {
        /// Identifies it, such as the device number.
        package var key: UInt64
        /// A directory on it, for messages.
        package var directory: String
        package var code: TransferFailure.Code

        /// Creates a description.
        package init(key: UInt64, directory: String, code: TransferFailure.Code) {
            self.key = key
            self.directory = directory
            self.code = code
        }
    }

    /// The transfers that wait for one file system.
    ///
    /// Each transfer makes its own attempt, because a smaller file may fit. Those that failed wait in a line, and
    /// the first of it makes the next attempt; each one that succeeds is followed by two more.
    struct FileSystemHold: Sendable {
        var fileSystem: FileSystem
        var message: String
        let since: Int64
        /// The waiting transfers, the longest waiting one first; some may have been paused or cancelled.
        var line = FirstInFirstOut<TransferID>()
        /// Those of them that make an attempt.
        var probing: Set<TransferID> = []
        var interval = FileSystemHold.firstInterval
        var nextTry: Int64

        /// The times between two attempts, in nanoseconds.
        static let firstInterval: Int64 = 1_000_000_000
        static let longestInterval: Int64 = 10_000_000_000
    }

    /// After this many failures in a row transfers start one by one.
    static let failuresBeforePause = 4

    package func fileSystemHolds() -> [Hold] { self.fileSystems.map { self.hold(of: $0) } }

    /// The verdict about a transfer whose file system took no bytes.
    ///
    /// - Returns: The verdict, or `nil` if the failure counts like any other.
    mutating func waitForFileSystem(_ slot: Int, _ failure: Failure, _ now: Int64) -> Verdict? {
        guard let fileSystem = failure.fileSystem else { return nil }
        let (id, timeout) = (self.entries[slot].id, self.entries[slot].outageTimeout)
        guard timeout > 0 || self.waitsForFileSystems else { return self.fail(slot, .refused(.fileSystem)) }
        let index = self.fileSystems.firstIndex { $0.fileSystem.key == fileSystem.key }
        var hold: FileSystemHold
        if let index {
            hold = self.fileSystems[index]
        } else {
            hold = FileSystemHold(fileSystem: fileSystem, message: failure.message, since: now, nextTry: now)
        }
        let isProbe = hold.probing.remove(id) != nil
        hold.message = failure.message
        if isProbe { hold.interval = min(2 * hold.interval, FileSystemHold.longestInterval) }
        guard self.waitsForFileSystems || now - hold.since < timeout else {
            if let index { self.fileSystems[index] = hold }
            self.startsLeft = .max
            self.collectExpired(hold, now)
            return self.fail(slot, .refused(.fileSystem))
        }
        self.limitStarts(now)
        hold.line.append(id)
        if hold.nextTry <= now {
            hold.nextTry = now.adding(clamping: hold.interval)
            self.scheduleFileSystems(at: hold.nextTry)
        }
        if let index {
            self.fileSystems[index] = hold
        } else {
            self.fileSystems.append(hold)
            self.notices.append(.held(self.hold(of: hold)))
        }
        self.holdRetry(slot)
        return .held(attempt: Int(self.entries[slot].attempts), delay: max(0, hold.nextTry - now))
    }

    /// A run ended with a complete file: if it was an attempt for a file system, two more follow.
    mutating func fileSystemTook(_ id: TransferID, _ now: Int64) {
        (self.failuresOfFileSystems, self.startsLeft) = (0, .max)
        guard let index = self.fileSystems.firstIndex(where: { $0.probing.contains(id) }) else { return }
        self.fileSystems[index].probing.remove(id)
        self.fileSystems[index].interval = FileSystemHold.firstInterval
        self.tryNext(index)
        self.tryNext(index)
        self.releaseIfEmpty(index)
    }

    /// A run ended otherwise than by a full file system or with a complete file, which ends the row of failures.
    mutating func fileSystemLeft(_ id: TransferID) {
        (self.failuresOfFileSystems, self.startsLeft) = (0, .max)
        for index in self.fileSystems.indices { self.fileSystems[index].probing.remove(id) }
    }

    /// A time has come at which an attempt may be due.
    mutating func fileSystemsDue(_ now: Int64) {
        if self.startsLeft == 0, self.pauseEnd <= now { self.startsLeft = 1 }
        for index in self.fileSystems.indices {
            // One that was paused or cancelled before its run began makes no attempt.
            self.fileSystems[index].probing = self.fileSystems[index].probing
                .filter { [slots = self.slots, entries = self.entries] id in
                    guard let slot = slots[id] else { return false }
                    return entries[slot].state == .running || entries[slot].state == .waiting
                }
        }
        for index in self.fileSystems.indices.reversed() where self.fileSystems[index].nextTry <= now {
            if self.tryNext(index), self.startsLeft != .max { self.startsLeft += 1 }
            guard !self.releaseIfEmpty(index) else { continue }
            self.fileSystems[index].nextTry = now.adding(clamping: self.fileSystems[index].interval)
            self.scheduleFileSystems(at: self.fileSystems[index].nextTry)
        }
    }

    /// Lets all waiting transfers make an attempt: a user knows that there is room.
    mutating func releaseFileSystems() {
        while !self.fileSystems.isEmpty {
            let index = self.fileSystems.count - 1
            while self.tryNext(index) {}
            self.fileSystems[index].probing = []
            self.releaseIfEmpty(index)
        }
        (self.failuresOfFileSystems, self.startsLeft) = (0, .max)
    }

    /// Moves the first transfer that still waits to the front of the queue.
    @discardableResult
    private mutating func tryNext(_ index: Int) -> Bool {
        while let id = self.fileSystems[index].line.popFirst() {
            guard let slot = self.slots[id], self.entries[slot].state == .retrying(at: .max) else { continue }
            self.fileSystems[index].probing.insert(id)
            self.wait(slot, atFront: true)
            return true
        }
        return false
    }

    @discardableResult
    private mutating func releaseIfEmpty(_ index: Int) -> Bool {
        guard self.fileSystems[index].line.isEmpty, self.fileSystems[index].probing.isEmpty else { return false }
        var hold = self.hold(of: self.fileSystems.remove(at: index))
        hold.nextTry = nil
        self.notices.append(.released(hold))
        // Without holds no attempt is due any more, which would let others start.
        if self.fileSystems.isEmpty { (self.failuresOfFileSystems, self.startsLeft) = (0, .max) }
        return true
    }

    /// If nothing but failures of file systems happens, the transfers that were not tried yet are tried one by one.
    private mutating func limitStarts(_ now: Int64) {
        self.failuresOfFileSystems += 1
        guard self.failuresOfFileSystems >= Self.failuresBeforePause else { return }
        self.startsLeft = 0
        guard self.pauseEnd <= now else { return }
        self.pauseEnd = now.adding(clamping: FileSystemHold.firstInterval)
        self.scheduleFileSystems(at: self.pauseEnd)
    }

    /// Collects the waiting transfers whose outage timeout has passed; an attempt has just failed.
    private mutating func collectExpired(_ hold: FileSystemHold, _ now: Int64) {
        let facts = self.hold(of: hold)
        for id in hold.line.elements {
            guard let slot = self.slots[id], self.entries[slot].state == .retrying(at: .max),
                now - hold.since >= self.entries[slot].outageTimeout
            else { continue }
            self.expired.append((id, facts))
        }
    }

    private mutating func scheduleFileSystems(at time: Int64) {
        self.due.insert(DueQueue.Element(time: time, id: nil, gate: DueQueue.Element.fileSystems))
    }

    private func hold(of hold: FileSystemHold) -> Hold {
        var result = Hold(origin: nil, reason: .fileSystem, message: hold.message, since: hold.since)
        result.fileSystem = hold.fileSystem
        result.nextTry = hold.probing.isEmpty ? hold.nextTry : nil
        return result
    }
}
