internal import GRDB

/// One group of writes: those that throw undo themselves, the others are stored together or not at all.
struct Transaction {
    private let connection: Connection
    // Alone in its transaction, a write needs no savepoint, which costs a copy of each page that it changes.
    private let isSingle: Bool
    private var outcomes: [Work.Outcome] = []
    private(set) var failure: QueueStoreError?
    /// Why nothing is stored, or the first error of a work that lies in the disk or the file.
    private(set) var diskFailure: QueueStoreError?

    init(connection: Connection, isSingle: Bool) {
        self.connection = connection
        self.isSingle = isSingle
    }

    /// Begins it; where that fails every work is to be refused.
    mutating func begin() -> Bool {
        // Only where an earlier rollback failed.
        if self.connection.database.isInsideTransaction { self.rollback() }
        self.run("BEGIN IMMEDIATE")
        return self.failure == nil
    }

    /// Tells a work that the transaction did not begin.
    func refuse(_ work: Work) { if let failure = self.failure { work.refuse(failure) } }

    /// Does one work.
    mutating func perform(_ work: Work) {
        if self.failure == nil, !self.isSingle { self.run("SAVEPOINT work") }
        if let failure = self.failure {
            self.outcomes.append(Work.Outcome(error: failure) { _ in work.refuse(failure) })
            return
        }
        let outcome = work.perform(self.connection)
        self.outcomes.append(outcome)
        // A full disk may have rolled back everything at once.
        guard self.connection.database.isInsideTransaction else {
            self.failure = outcome.error ?? QueueStoreError(.inputOutput, "the transaction was rolled back")
            return
        }
        if self.isSingle {
            if outcome.error != nil { self.rollback() }
        } else {
            if outcome.error != nil { self.run("ROLLBACK TO work") }
            self.run("RELEASE work")
        }
    }

    /// Puts the group on disk.
    mutating func end() {
        if self.failure == nil, self.connection.database.isInsideTransaction { self.run("COMMIT") }
        if self.connection.database.isInsideTransaction { self.rollback() }
        self.diskFailure = self.failure ?? self.outcomes.lazy.compactMap(\.error).first(where: \.isOfTheDisk)
    }

    /// Reports to everyone how it ended.
    func finish() { for outcome in self.outcomes { outcome.finish(self.failure) } }

    private mutating func run(_ sql: String) {
        guard self.failure == nil else { return }
        do throws(QueueStoreError) { try self.connection.run(sql) } catch { self.failure = error }
    }

    // Where this fails too, the next group tries again.
    private func rollback() { try? self.connection.run("ROLLBACK") }
}
