// SPDX-License-Identifier: Apache-2.0
/// One group of writes: those that throw are undone, the others are stored together or not at all.
struct Transaction {
    private let connection: Connection
    // A single write does without a savepoint, which costs a copy of each changed page.
    private let isSingle: Bool
    private var outcomes: [Work.Outcome] = []
    private(set) var failure: QueueStoreError?
    /// The error for which nothing is stored, or the first error of a work that the disk or the file caused.
    private(set) var diskFailure: QueueStoreError?

    init(connection: Connection, isSingle: Bool) {
        self.connection = connection
        self.isSingle = isSingle
    }

    /// Begins the transaction; if this returns false, every work must be refused.
    mutating func begin() -> Bool {
        // Only after a failed rollback.
        if self.connection.isInTransaction { self.rollback() }
        self.run("BEGIN IMMEDIATE")
        return self.failure == nil
    }

    /// Completes a work with the error for which the transaction did not begin.
    func refuse(_ work: Work) { if let failure = self.failure { work.refuse(failure) } }

    /// Performs one work.
    mutating func perform(_ work: Work) {
        if self.failure == nil, !self.isSingle { self.run("SAVEPOINT work") }
        if let failure = self.failure {
            self.outcomes.append(Work.Outcome(error: failure) { _ in work.refuse(failure) })
            return
        }
        let outcome = work.perform(self.connection)
        self.outcomes.append(outcome)
        // SQLite may have rolled back the whole transaction on a full disk.
        guard self.connection.isInTransaction else {
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

    /// Commits the group.
    mutating func end() {
        if self.failure == nil, self.connection.isInTransaction { self.run("COMMIT") }
        if self.connection.isInTransaction { self.rollback() }
        self.diskFailure = self.failure ?? self.outcomes.lazy.compactMap(\.error).first(where: \.isOfTheDisk)
    }

    /// Reports the outcome to all callers.
    func finish() { for outcome in self.outcomes { outcome.finish(self.failure) } }

    private mutating func run(_ sql: String) {
        guard self.failure == nil else { return }
        do throws(QueueStoreError) { try self.connection.run(sql) } catch { self.failure = error }
    }

    // If this fails too, the next group tries again.
    private func rollback() { try? self.connection.run("ROLLBACK") }
}
