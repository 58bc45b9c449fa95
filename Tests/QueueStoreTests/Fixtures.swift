// SPDX-License-Identifier: Apache-2.0
/// Databases as each version left them; a version that was released keeps its text for good.
enum Fixtures {
    /// By version, from 1 on.
    ///
    /// Each holds the same: see `MigrationTests`.
    static let all = [Self.version1, Self.version2, Self.version3, Self.version4]

    // The paused one became so by an order for all; see `StateClasses`.
    private static let version4 = """
        \(Self.version3)
        ALTER TABLE transfers ADD COLUMN host INTEGER NOT NULL DEFAULT 0;
        UPDATE transfers SET host = -783622838128774100, state = iif(state = 1, -1, state) WHERE state < 2;
        DROP INDEX turn;
        CREATE INDEX ready ON transfers(queue, state, host, priority DESC, position, id) WHERE state < 2;
        CREATE TABLE heads (
            queue INTEGER NOT NULL,
            code INTEGER NOT NULL,
            host INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            position INTEGER NOT NULL,
            PRIMARY KEY (queue, code, host)
        ) WITHOUT ROWID;
        INSERT INTO heads
            SELECT queue, state, host, max(priority), position FROM
            (SELECT queue, state, host, priority, min(position) AS position FROM transfers INDEXED BY ready
                WHERE state < 2 GROUP BY queue, state, host, priority)
            GROUP BY queue, state, host;
        CREATE INDEX firstHeads ON heads(queue, code, priority DESC, position, host);
        CREATE TABLE classes (
            queue INTEGER NOT NULL,
            code INTEGER NOT NULL,
            meaning INTEGER NOT NULL,
            at REAL,
            deletes INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (queue, code)
        ) WITHOUT ROWID;
        CREATE TABLE removals (queue INTEGER PRIMARY KEY, count INTEGER NOT NULL, discarded INTEGER NOT NULL);
        CREATE TABLE forgotten (queue INTEGER PRIMARY KEY, last INTEGER NOT NULL);
        CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO classes VALUES (0, 0, 0, NULL, 0), (0, -1, 1, NULL, 0);
        PRAGMA user_version = 4;
        """

    private static let version3 = """
        \(Self.version2)
        ALTER TABLE transfers ADD COLUMN upload TEXT;
        PRAGMA user_version = 3;
        """

    private static let version2 = """
        \(Self.version1)
        DROP INDEX age;
        PRAGMA user_version = 2;
        """

    private static let version1 = """
        PRAGMA application_id = 1299346540;
        PRAGMA user_version = 1;
        CREATE TABLE transfers (
            number INTEGER PRIMARY KEY,
            id INTEGER NOT NULL,
            queue INTEGER NOT NULL,
            state INTEGER NOT NULL,
            position INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            total INTEGER,
            added REAL NOT NULL,
            ended REAL,
            directory TEXT NOT NULL,
            urls TEXT NOT NULL,
            options TEXT,
            path TEXT,
            failure TEXT
        );
        CREATE UNIQUE INDEX identifiers ON transfers(id);
        CREATE INDEX line ON transfers(queue, position, state) WHERE state < 2;
        CREATE INDEX turn ON transfers(queue, priority DESC, position) WHERE state = 0;
        CREATE INDEX history ON transfers(position, queue, state) WHERE state > 1;
        CREATE INDEX age ON transfers(ended, position, state) WHERE state > 1 AND queue = 0;
        CREATE INDEX owed ON transfers(queue, id) WHERE state > 1 AND queue > 0;
        CREATE TABLE tally (
            isEnded INTEGER NOT NULL,
            queue INTEGER NOT NULL,
            bucket INTEGER NOT NULL,
            state INTEGER NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (isEnded, queue, bucket, state)
        ) WITHOUT ROWID;
        CREATE TABLE sessions (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            identifier TEXT NOT NULL UNIQUE,
            configuration TEXT NOT NULL,
            acknowledged INTEGER NOT NULL DEFAULT 0,
            last INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE events (
            queue INTEGER NOT NULL,
            number INTEGER NOT NULL,
            transfer INTEGER NOT NULL,
            json TEXT NOT NULL,
            PRIMARY KEY (queue, number)
        );
        CREATE INDEX eventsOfTransfers ON events(queue, transfer);
        CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        INSERT INTO sessions VALUES (1, 'photos', '{"retries":3}', 2, 4);
        INSERT INTO transfers VALUES
            (1, 1, 0, 0, 0, 0, 0, NULL, 1000.0, NULL, '/data', 'http://host.example/1', NULL, NULL, NULL),
            (2, 2, 0, 1, 4294967296, 5, 17, 99, 1000.0, NULL, '/data',
             '["http://host.example/2","http://mirror.example/2"]', '{"out":"two","header":["A: 1"]}', '/data/two', NULL),
            (3, -1, 0, 3, 1, 0, 3, NULL, 1000.0, 2000.0, '/data', 'http://host.example/3', NULL, NULL,
             '{"code":3,"message":"gone","remedy":"","status":410}'),
            (4, 4, 1, 2, 2, 0, 8, 8, 1000.0, 2001.0, '/data', 'http://host.example/4', NULL, '/data/4', NULL);
        INSERT INTO tally VALUES (0, 0, 0, 0, 1), (0, 0, 0, 1, 1), (1, 0, 0, 3, 1), (1, 1, 0, 2, 1);
        INSERT INTO events VALUES (1, 3, 4, '{"kind":"response"}'), (1, 4, 4, '{"kind":"finished"}');
        INSERT INTO settings VALUES ('limits', '{"max-concurrent-downloads":"9"}');
        """
}
