// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import SQLite
import Testing
import TransferTesting

@testable import QueueStore

@Suite struct MigrationTests {
    /// Writes a database as a version left it.
    private func write(_ sql: String, _ path: String) throws {
        try SQLiteConnection(path: path).execute("BEGIN; \(sql); COMMIT")
    }

    /// The first column of all rows.
    private func texts(_ connection: SQLiteConnection, _ sql: String) throws -> [String?] {
        let statement = try connection.statement(sql)
        defer { statement.finish() }
        var texts: [String?] = []
        while try statement.step() { texts.append(statement.text(0)) }
        return texts
    }

    private func code(_ body: () throws -> Void) -> QueueStoreError? {
        do {
            try body()
            return nil
        } catch { return error as? QueueStoreError }
    }

    @Test func everyVersionHasAFixture() { #expect(Fixtures.all.count == Migration.all.count) }

    @Test(arguments: Fixtures.all.indices)
    func everythingOfAnEarlierVersionIsFound(index: Int) async throws {
        let directory = try ScratchStore.makeDirectory()
        defer { ScratchStore.remove(directory) }
        let path = directory + "/queue.db"
        try self.write(Fixtures.all[index], path)
        let store = try QueueStore(path: path)
        let found = try await store.read { (r) throws(QueueStoreError) in
            try r.expectExactTally()
            return try r.transfers(
                in: Set(TransferRecord.State.allCases),
                session: nil,
                offset: 0,
                limit: 10,
                fromEnd: false
            )
        }
        var second = transfer(2)
        second.state = .paused
        second.priority = 5
        second.bytes = 17
        second.total = 99
        second.urls.append("http://mirror.example/2")
        second.options = TransferOptions(["out": ["two"], "header": ["A: 1"]])
        second.path = "/data/two"
        var third = transfer(3)
        third.id = gid(.max)
        third.state = .failed
        third.bytes = 3
        third.ended = 2000
        third.failure = TransferRecord.Failure(code: 3, message: "gone", status: 410)
        var fourth = transfer(4, session: "photos")
        fourth.state = .finished
        fourth.bytes = 8
        fourth.total = 8
        fourth.ended = 2001
        fourth.path = "/data/4"
        #expect(found == [transfer(1), second, third, fourth])
        let session = try await store.read { (r) throws(QueueStoreError) in try r.session("photos") }
        #expect(
            session
                == StoredSession(identifier: "photos", configuration: #"{"retries":3}"#, acknowledged: 2, last: 4)
        )
        let events = try await store.read { (r) throws(QueueStoreError) in
            try r.events(of: "photos", after: 2, limit: 9)
        }
        #expect(events.map(\.json) == [#"{"kind":"response"}"#, #"{"kind":"finished"}"#])
        let setting = try await store.read { (r) throws(QueueStoreError) in try r.setting("limits") }
        #expect(setting == #"{"max-concurrent-downloads":"9"}"#)
        try await store.write { (w) throws(QueueStoreError) in
            try w.add(transfers([50], session: "photos") + transfers([51]), at: nil)
        }
        await store.close()
    }

    @Test func aFixtureHasTheFormThatItsMigrationsMake() throws {
        for index in Fixtures.all.indices {
            let directory = try ScratchStore.makeDirectory()
            defer { ScratchStore.remove(directory) }
            try self.write(Fixtures.all[index], directory + "/queue.db")
            let made = try SQLiteConnection(path: nil)
            let connection = Connection(sqlite: made, path: "", fault: nil)
            try connection.addHostFunction()
            try Array(Migration.all.prefix(index + 1)).run(connection)
            let schema = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
            let expected = try self.texts(made, schema)
            let fixture = try self.texts(SQLiteConnection(path: directory + "/queue.db"), schema)
            #expect(fixture == expected)
        }
    }

    @Test func aNewStepIsTakenOnceAndAnEarlierProgramRefusesIt() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers([1]))
        await scratch.store.close()
        let later = Migration.all + [Migration(sql: "ALTER TABLE transfers ADD COLUMN extra TEXT;")]
        for _ in 0..<2 {
            let store = try QueueStore(path: scratch.path, migrations: later)
            let found = try await store.read { (r) throws(QueueStoreError) in
                [
                    try r.transfer(gid(1))?.urls.count,
                    try r.connection.integer("SELECT count(*) FROM transfers WHERE extra IS NULL").map { Int($0) },
                ]
            }
            #expect(found == [1, 1])
            await store.close()
        }
        let error = self.code { _ = try QueueStore(path: scratch.path) }
        #expect(error?.code == .tooNew)
        #expect(error?.message.contains(scratch.path) == true)
    }

    @Test func aStepThatFailsLeavesTheVersionBefore() async throws {
        let scratch = try ScratchStore()
        await scratch.store.close()
        let broken = Migration.all + [Migration(sql: "CREATE TABLE extra (a); CREATE TABLE extra (a);")]
        #expect(self.code { _ = try QueueStore(path: scratch.path, migrations: broken) } != nil)
        let again = try QueueStore(path: scratch.path)
        await again.close()
    }

    @Test func aFileThatIsNoDatabaseIsNamedAndKept() throws {
        let directory = try ScratchStore.makeDirectory()
        defer { ScratchStore.remove(directory) }
        let path = directory + "/queue.db"
        let text = String(repeating: "no database at all\n", count: 500)
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        fclose(file)
        let error = self.code { _ = try QueueStore(path: path) }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains(path) == true && error?.message.contains("aside") == true)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_size == text.utf8.count)
    }

    @Test func anotherProgramsDatabaseIsLeftAlone() throws {
        let directory = try ScratchStore.makeDirectory()
        defer { ScratchStore.remove(directory) }
        let path = directory + "/queue.db"
        try self.write("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1);", path)
        #expect(self.code { _ = try QueueStore(path: path) }?.code == .damaged)
        let tables = try self.texts(SQLiteConnection(path: path), "SELECT name FROM sqlite_master")
        #expect(tables == ["theirs"])
    }

    @Test func aDamagedPageIsAnErrorAndNoCrash() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...3000))
        await scratch.store.close()
        let file = open(scratch.path, O_RDWR)
        let garbage = [UInt8](repeating: 0xA5, count: 4096)
        var status = stat()
        fstat(file, &status)
        // The first pages, with the schema, stay: what is behind them is found to be damaged by those who read it.
        for page in 64..<(Int(status.st_size) / 4096) { pwrite(file, garbage, 4096, off_t(page * 4096)) }
        close(file)
        let store = try QueueStore(path: scratch.path)
        var codes: [QueueStoreError.Code] = []
        do { _ = try await store.read { (r) throws(QueueStoreError) in try r.transfer(gid(3000)) } } catch {
            codes.append(error.code)
        }
        do {
            try await store.write { (w) throws(QueueStoreError) in try w.add(transfers([9999]), at: nil) }
        } catch { codes.append(error.code) }
        #expect(codes == [.damaged, .damaged])
        await store.close()
    }

    @Test func nobodyElseMayReadTheFiles() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers([1]))
        func modes() -> [mode_t] {
            ["", "-wal"]
                .map { suffix in
                    var status = stat()
                    return stat(scratch.path + suffix, &status) == 0 ? status.st_mode & 0o777 : 0
                }
        }
        #expect(modes() == [0o600, 0o600])
        // A mapped file would end the process if another program truncated it.
        #expect(access(scratch.path + "-shm", F_OK) != 0)
        await scratch.store.close()
        chmod(scratch.path, 0o644)
        let again = try QueueStore(path: scratch.path)
        try await again.write { (w) throws(QueueStoreError) in try w.setSetting("a", "1") }
        #expect(modes() == [0o600, 0o600])
        #expect(access(scratch.path + "-shm", F_OK) != 0)
        await again.close()
    }

    @Test(arguments: ["", "/nowhere/at/all/queue.db"])
    func aPathThatCannotBeOpenedIsNamed(path: String) {
        #expect(self.code { _ = try QueueStore(path: path) }?.code == .inputOutput)
    }

    @Test(arguments: ["", "-wal"])
    func aDirectoryInADatabasesPlaceStaysAsItIs(suffix: String) throws {
        let temporary = try TemporaryDirectory()
        let path = temporary.path("queue.db")
        if !suffix.isEmpty { try temporary.write([], to: "queue.db") }
        try #require(mkdir(path + suffix, 0o755) == 0)
        let error = self.code { _ = try QueueStore(path: path) }
        #expect(error?.code == .inputOutput && error?.message.contains(path + suffix) == true)
        #expect(TemporaryDirectory.permissions(of: path + suffix) == 0o755)
    }
}
