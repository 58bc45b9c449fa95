// SPDX-License-Identifier: Apache-2.0
extension Migration {
    /// The first schema.
    ///
    /// Rows are appended to `transfers` independently of their identifiers, so that transfers added together share
    /// pages: with the identifier as key, each transfer would change its own page. `queue` is 0 for the shared queue,
    /// else the session's number. `state`: 0 waiting, 1 paused, 2 finished, 3 failed, 4 removed. `position` orders the
    /// first two, with gaps; for the others it is the number of the end. `urls` is one URL, or a JSON array.
    ///
    /// `tally` counts the transfers in buckets of positions, so that the Nth transfer is found without reading N
    /// entries.
    static let version1 = """
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
        """
}
