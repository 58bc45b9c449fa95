// SPDX-License-Identifier: Apache-2.0
extension Connection {
    /// Returns the meanings of the codes of a queue's unfinished transfers.
    func classes(of queue: Int64) throws(QueueStoreError) -> StateClasses {
        let path = self.path
        var meanings: [Int64: StateClasses.Meaning] = [:]
        try self.each("SELECT code, meaning, at, deletes FROM classes WHERE queue = ?", [queue]) {
            (row) throws(QueueStoreError) in
            guard let code = row.integer(0), StateClasses.codes.contains(code), let meaning = row.integer(1),
                let deletes = row.integer(3)
            else { throw .damaged(path, "the states cannot be read") }
            switch meaning {
            case 0: meanings[code] = .waiting
            case 1: meanings[code] = .paused
            case 4: meanings[code] = .removed(at: row.real(2) ?? 0, deletesPartial: deletes != 0)
            case 5: meanings[code] = .gone(deletesPartial: deletes != 0)
            default: throw .damaged(path, "the states cannot be read")
            }
            return true
        }
        return StateClasses(stored: meanings)
    }

    /// Stores the meanings of a queue's codes.
    func store(_ classes: StateClasses, of queue: Int64) throws(QueueStoreError) {
        try self.run("DELETE FROM classes WHERE queue = ?", [queue])
        guard !classes.isUsual else { return }
        for (code, meaning) in classes.meanings {
            var time: Double?
            var deletes = false
            switch meaning {
            case .waiting, .paused: break
            case .removed(let at, let deletesPartial): (time, deletes) = (at, deletesPartial)
            case .gone(let deletesPartial): deletes = deletesPartial
            }
            try self.run(
                "INSERT INTO classes (queue, code, meaning, at, deletes) VALUES (?, ?, ?, ?, ?)",
                [queue, code, meaning.state, time, deletes]
            )
        }
    }

    /// Returns whether a queue has rows with a code.
    func isUsed(_ code: Int64, of queue: Int64) throws(QueueStoreError) -> Bool {
        try self.integer("SELECT 1 FROM heads WHERE queue = ? AND code = ? LIMIT 1", [queue, code]) != nil
    }

    /// Returns the meanings without the codes that no row has.
    func used(_ classes: StateClasses, of queue: Int64) throws(QueueStoreError) -> StateClasses {
        var used = classes
        for code in classes.meanings.keys {
            if try !self.isUsed(code, of: queue) { used.drop(code) }
        }
        return used
    }
}

/// A cache of the meanings of codes, by queue, for one operation.
struct ClassBook {
    private let connection: Connection
    private var classes: [Int64: StateClasses] = [:]
    /// The codes that were returned: rows that do not exist yet may get them.
    private var given: [Int64: Set<Int64>] = [:]
    /// Whether rows were given another code of the same meaning.
    private(set) var hasMerged = false

    init(_ connection: Connection) { self.connection = connection }

    /// Returns a code for rows of a queue that get a state.
    mutating func code(for meaning: StateClasses.Meaning, queue: Int64) throws(QueueStoreError) -> Int64 {
        var classes: StateClasses
        if let known = self.classes[queue] { classes = known } else { classes = try self.connection.classes(of: queue) }
        defer { self.classes[queue] = classes }
        let before = classes
        if !classes.meanings.values.contains(meaning) { try self.makeRoom(&classes, queue) }
        guard let code = classes.code(for: meaning) else {
            throw QueueStoreError(.inputOutput, "'\(self.connection.path)': too many states in one queue")
        }
        if classes != before { try self.connection.store(classes, of: queue) }
        self.given[queue, default: []].insert(code)
        return code
    }

    /// Frees unused codes; if many remain, merges codes of the same meaning by changing rows.
    private mutating func makeRoom(_ classes: inout StateClasses, _ queue: Int64) throws(QueueStoreError) {
        let given = self.given[queue] ?? []
        for code in classes.meanings.keys where !given.contains(code) {
            if try !self.connection.isUsed(code, of: queue) { classes.drop(code) }
        }
        while classes.meanings.count >= StateClasses.most {
            var least: (code: Int64, count: Int64)?
            for code in classes.twins where !given.contains(code) {
                let count = try self.connection.integer(
                    "SELECT count(*) FROM transfers INDEXED BY ready WHERE queue = ? AND state = ? AND likely(state < 2)",
                    [queue, code]
                )
                if let count, count < least?.count ?? .max { least = (code, count) }
            }
            guard let (source, _) = least, let meaning = classes.meanings[source],
                let target = classes.meanings.first(where: { $0.key != source && $0.value == meaning })?.key
            else { return }
            var heads = Heads()
            try self.connection.each("SELECT host FROM heads WHERE queue = ? AND code = ?", [queue, source]) { row in
                let host = row.integer(0) ?? 0
                heads.touch(queue: queue, code: source, host: host)
                heads.touch(queue: queue, code: target, host: host)
                return true
            }
            try self.connection.run(
                "UPDATE transfers INDEXED BY ready SET state = ? WHERE queue = ? AND state = ? AND likely(state < 2)",
                [target, queue, source]
            )
            try heads.store(self.connection)
            classes.drop(source)
            self.hasMerged = true
        }
    }
}
