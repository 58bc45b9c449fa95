// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Synchronization
internal import TransferCore

final class MemoryResponseStore: ResponseStore {
    private struct Stored {
        var entry: CachedEntry
        var size: Int64
        var lastUse: Double
    }

    private struct State {
        var entries: [CacheKey: Stored] = [:]
        var size: Int64 = 0
        /// Counts uses.
        var clock = 0.0
    }

    private let state = Mutex(State())

    func open(_ key: CacheKey) -> CachedEntry? {
        self.state.withLock { state in
            state.clock += 1
            state.entries[key]?.lastUse = state.clock
            return state.entries[key]?.entry
        }
    }

    func selection(of key: CacheKey) -> CacheSelection? { self.state.withLock { $0.entries[key]?.entry.selection } }

    func requestTime(of key: CacheKey) -> Int64? {
        self.state.withLock { $0.entries[key]?.entry.response.requestTime }
    }

    func makeWriter(_ key: CacheKey, _ response: StoredResponse, _ selection: CacheSelection) -> any CacheEntryWriter {
        Writer(self, key, response, selection)
    }

    private func put(_ entry: CachedEntry, size: Int64, _ key: CacheKey) {
        self.state.withLock { state in
            state.clock += 1
            state.size += size - (state.entries[key]?.size ?? 0)
            state.entries[key] = Stored(entry: entry, size: size, lastUse: state.clock)
        }
    }

    func remove(_ key: CacheKey) {
        self.state.withLock { state in
            if let removed = state.entries.removeValue(forKey: key) { state.size -= removed.size }
        }
    }

    func removeAll(since time: Int64?) {
        self.state.withLock { state in
            state.entries = state.entries.filter { entry in
                time.map { entry.value.entry.response.responseTime < $0 } ?? false
            }
            state.size = state.entries.values.reduce(0) { $0 + $1.size }
        }
    }

    var size: Int64 { self.state.withLock { $0.size } }

    func trim(to limit: Int64, added: Int64) {
        self.state.withLock { state in
            guard state.size > limit else { return }
            let entries = state.entries.map { (id: $0.key, size: $0.value.size, lastUse: $0.value.lastUse) }
            for key in EvictionRule.victims(entries, limit: limit) {
                if let removed = state.entries.removeValue(forKey: key) { state.size -= removed.size }
            }
        }
    }

    /// Collects one body.
    private final class Writer: CacheEntryWriter {
        private let store: MemoryResponseStore
        private let key: CacheKey
        private let response: StoredResponse
        private let selection: CacheSelection
        private var body: [UInt8] = []

        init(
            _ store: MemoryResponseStore,
            _ key: CacheKey,
            _ response: StoredResponse,
            _ selection: CacheSelection
        ) {
            self.store = store
            self.key = key
            self.response = response
            self.selection = selection
        }

        // The fields and a little more.
        private var size: Int64 { Int64(self.body.count + self.response.encodedFields.count + 256) }

        func write(_ bytes: [UInt8]) {
            if self.body.isEmpty { self.body = bytes } else { self.body += bytes }
        }

        func finish() -> Int64 { self.size }

        func commit() {
            let entry = CachedEntry(self.response, self.selection, body: self.body)
            self.store.put(entry, size: self.size, self.key)
        }

        func discard() { self.body = [] }
    }
}
