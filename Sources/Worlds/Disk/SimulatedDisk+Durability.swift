// SPDX-License-Identifier: Apache-2.0
import Platform

/// A change of names or attributes before it is durable.
struct DiskChange {
    /// A name, and what it then means.
    struct Name {
        var directory: DiskNode
        var name: String
        var node: DiskNode?
    }

    var sequence: Int
    var names: [Name] = []
    /// A node with its new attributes.
    var facts: (node: DiskNode, value: DiskNode.Facts)?

    func apply() {
        for name in self.names { name.directory.durableEntries[name.name] = name.node }
        if let facts { facts.node.durableFacts = facts.value }
    }
}

extension SimulatedDisk {
    // MARK: Changes

    /// Changes names, in one step for processes and for a loss of power.
    func change(_ names: [DiskChange.Name]) {
        let (now, sequence) = (self.now, self.nextSequence)
        for change in names {
            if let old = change.directory.entries[change.name] {
                old.links -= 1
                old.changed = now
                old.changeSequence = sequence
            }
            change.directory.entries[change.name] = change.node
            if let node = change.node {
                node.links += 1
                node.changed = now
                node.changeSequence = sequence
                if node.kind == .directory { node.parent = change.directory }
            }
            change.directory.facts.modified = now
            change.directory.changed = now
            change.directory.changeSequence = sequence
        }
        self.log.append(DiskChange(sequence: sequence, names: names))
        self.nextSequence += 1
    }

    /// Notes that a node has new attributes.
    func changedFacts(of node: DiskNode) {
        node.changed = self.now
        node.changeSequence = self.nextSequence
        self.log.append(DiskChange(sequence: self.nextSequence, facts: (node, node.facts)))
        self.nextSequence += 1
    }

    /// Notes that the content of a file was changed.
    func changedContent(of node: DiskNode, sizeBefore: Int) {
        node.facts.modified = self.now
        node.changed = node.facts.modified
        node.changeSequence = self.nextSequence - 1
        if node.content.size != sizeBefore { node.sizeSequence = self.nextSequence - 1 }
        if !node.isListed {
            node.isListed = true
            self.written.append(node)
        }
        guard Int.random(in: 0..<16, using: &self.random) == 0 else { return }
        self.written[Int.random(in: 0..<self.written.count, using: &self.random)].content.writeBack(&self.random)
    }

    /// Frees the space of a file that has neither a name nor an open file.
    func freeIfUnused(_ node: DiskNode?) {
        guard let node, node.kind == .file, node.links == 0, node.openings == 0 else { return }
        self.usedPages -= node.content.allocated.count
    }

    // MARK: Syncs

    private func commit(upTo sequence: Int) {
        let count = self.log.prefix { $0.sequence <= sequence }.count
        for change in self.log[..<count] { change.apply() }
        self.log.removeFirst(count)
    }

    /// Makes a file or directory durable.
    func makeDurable(_ node: DiskNode, dataOnly: Bool) {
        if node.kind == .file {
            node.content.sync()
            if node.isListed {
                node.isListed = false
                self.written.removeAll { $0 === node }
            }
        }
        switch self.order {
        case .journaled: self.commit(upTo: dataOnly && node.kind == .file ? node.sizeSequence : node.changeSequence)
        case .independent:
            self.log.removeAll { change in
                let isMeant =
                    change.names.contains { $0.directory === node } || (change.facts?.node === node && !dataOnly)
                if isMeant { change.apply() }
                return isMeant
            }
        }
        if !dataOnly { node.durableFacts = node.facts } else { node.durableFacts.modified = node.facts.modified }
    }

    /// Makes everything durable (syncfs(2)).
    package func syncAll() {
        self.commit(upTo: .max)
        for node in self.written {
            node.content.sync()
            node.isListed = false
        }
        self.written = []
    }

    /// Makes all names and attributes durable.
    func syncNames() { self.commit(upTo: .max) }

    // MARK: Loss of power

    /// Loses what is not durable, or parts of it, ends all processes, and starts a new boot.
    package func losePower() {
        // Those that have opened something.
        for process in self.tables.indices where !self.tables[process].isEmpty { self.endProcess(process) }
        self.dead(self.process)
        let kept = Int.random(in: 0...self.log.count, using: &self.random)
        for (index, change) in self.log.enumerated() {
            switch self.order {
            case .journaled: if index < kept { change.apply() }
            case .independent: if Bool.random(using: &self.random) { change.apply() }
            }
        }
        self.log = []
        self.written = []
        self.usedPages = 0
        var seen: Set<UInt64> = []
        self.restore(self.root, &seen)
        self.startBoot()
    }

    private func dead(_ process: Int) { if process > 0 { self.endProcess(process) } }

    private func restore(_ directory: DiskNode, _ seen: inout Set<UInt64>) {
        seen.insert(directory.number)
        directory.entries = directory.durableEntries
        directory.facts = directory.durableFacts
        for name in directory.entries.keys.sorted() {
            guard let node = directory.entries[name] else { continue }
            if seen.contains(node.number) {
                node.links += 1
                continue
            }
            seen.insert(node.number)
            node.links = 1
            node.openings = 0
            node.lock = nil
            node.isListed = false
            switch node.kind {
            case .directory:
                node.parent = directory
                self.restore(node, &seen)
            case .file:
                let modified = Bool.random(using: &self.random) ? node.facts.modified : node.durableFacts.modified
                node.facts = node.durableFacts
                node.facts.modified = modified
                node.durableFacts = node.facts
                node.content.losePower(&self.random)
                self.usedPages += node.content.allocated.count
            case .link: node.facts = node.durableFacts
            }
        }
    }
}
