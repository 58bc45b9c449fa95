// SPDX-License-Identifier: Apache-2.0
extension Migration {
    /// Adds hosts, and actions on a whole queue at once.
    ///
    /// `host` is a ``HostKey``; only unfinished transfers need one. `ready` replaces `turn`: it contains the unfinished
    /// transfers by host, in the order in which they run. `heads` contains the first transfer of each host and code, so
    /// that a search skips a host that may not run in one step.
    ///
    /// `classes` contains the meanings of the codes of unfinished transfers, unless they are 0 waiting and 1 paused;
    /// see ``StateClasses``. `removals` counts the removed transfers whose ends are not stored yet. `forgotten`
    /// contains the number of the end up to which a queue's ended transfers are forgotten; the rows are deleted in the
    /// background. `facts` contains the identity and the counter that ``StateMarker`` compares.
    static let version4 = """
        ALTER TABLE transfers ADD COLUMN host INTEGER NOT NULL DEFAULT 0;
        UPDATE transfers SET host = martlet_host(urls) WHERE state < 2;
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
        """
}
