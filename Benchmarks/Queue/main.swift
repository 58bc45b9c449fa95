// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import QueueStore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// A queue of many entries: adds them in batches of a thousand, lists pages at the beginning, in the middle and at the end,
// opens the database again, and prints figures.  QueueBenchmark [COUNT [DIRECTORY [HOSTS]]]

let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
let directory = CommandLine.arguments.dropFirst(2).first ?? "."
let hosts = CommandLine.arguments.dropFirst(3).first.flatMap { Int($0) } ?? 1
let path = "\(directory)/queue-benchmark-\(getpid()).db"
let clock = ContinuousClock()

func seconds(_ duration: Duration) -> Double {
    Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
}

func milliseconds(_ duration: Duration) -> String { "\((seconds(duration) * 100_000).rounded() / 100) ms" }

/// Resident memory now and at most, in MiB.
func memory() -> String {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let values = status.split(separator: "\n").filter { $0.hasPrefix("VmRSS") || $0.hasPrefix("VmHWM") }
        .map { line in "\(line.prefix(5)) \((Int(line.filter(\.isNumber)) ?? 0) >> 10) MiB" }
    return values.joined(separator: ", ")
}

/// The time of one of several repetitions, and the worst.
func measure(_ name: String, _ times: Int = 20, _ body: () async throws -> Void) async throws {
    var all: [Duration] = []
    for _ in 0..<times {
        let start = clock.now
        try await body()
        all.append(clock.now - start)
    }
    all.sort()
    print("\(name): median \(milliseconds(all[all.count / 2])), worst \(milliseconds(all[all.count - 1]))")
}

func page(_ store: QueueStore, _ states: Set<TransferRecord.State>, _ offset: Int, fromEnd: Bool = false) async throws {
    let found = try await store.read { (reader) throws(QueueStoreError) in
        try reader.transfers(in: states, session: .some(nil), offset: offset, limit: 100, fromEnd: fromEnd)
    }
    if found.isEmpty { print("an empty page at \(offset)") }
}

func figures(_ store: QueueStore, _ states: Set<TransferRecord.State>, of count: Int) async throws {
    for (name, offset) in [("first", 0), ("middle", count / 2), ("last", count - 100)] {
        try await measure("page, \(name)") { try await page(store, states, offset) }
    }
    try await measure("page, from the end") { try await page(store, states, 100, fromEnd: true) }
}

defer { for suffix in ["", "-wal", "-shm", "-state"] { unlink(path + suffix) } }
var store = try QueueStore(path: path)
print("start: \(memory())")
var ids: [GID] = []
var begin = clock.now
for batch in stride(from: 0, to: count, by: 1000) {
    let entries = (batch..<min(count, batch + 1000))
        .map { number in
            StoredTransfer(
                id: .random(),
                urls: ["https://downloads\(number % hosts).example.com/some/directory/file-\(number).tar.gz"],
                options: TransferOptions(["out": ["file-\(number).tar.gz"]]),
                directory: "/home/user/Downloads",
                added: 1_700_000_000
            )
        }
    if batch % 10_000 == 0 { ids.append(entries[0].id) }
    try await store.write { (writer) throws(QueueStoreError) in try writer.add(entries, at: nil) }
}
print("add: \(Int(Double(count) / seconds(clock.now - begin))) a second; \(memory())")
try await figures(store, [.waiting, .paused], of: count)
try await measure("page, one state, none there") {
    _ = try await store.read { (reader) throws(QueueStoreError) in
        try reader.transfers(in: [.paused], session: nil, offset: 0, limit: 100, fromEnd: false).count
    }
}
let some = ids
try await measure("place") {
    _ = try await store.read { (reader) throws(QueueStoreError) in try reader.place(of: some[some.count / 2]) }
}
try await measure("next to run") {
    _ = try await store.read { (reader) throws(QueueStoreError) in try reader.nextToRun(session: nil, limit: 100) }
}
try await measure("one small write, synced") {
    try await store.write { (writer) throws(QueueStoreError) in try writer.setPriority(1, of: [some[0]]) }
}
try await measure("move to the middle, synced") {
    _ = try await store.write { (writer) throws(QueueStoreError) in
        try writer.move(some.randomElement() ?? some[0], to: count / 2)
    }
}
begin = clock.now
await store.close()
print("close: \(milliseconds(clock.now - begin))")
begin = clock.now
store = try QueueStore(path: path)
let counts = try await store.read { (reader) throws(QueueStoreError) in try reader.counts() }
print("open and count \(counts.values.reduce(0, +)): \(milliseconds(clock.now - begin)); \(memory())")

var ended = 0
begin = clock.now
while ended < min(count, 100_000) {
    let next = try await store.write { (writer) throws(QueueStoreError) in
        let next = try writer.reader.nextToRun(session: nil, limit: 200)
        try writer.end(next.map { StoredEnd(id: $0.id, state: .finished, path: "/x", bytes: 1, total: 1, at: 1) })
        return next.count
    }
    if next == 0 { break }
    ended += next
}
print("end, by 200: \(Int(Double(ended) / seconds(clock.now - begin))) a second; \(memory())")
// Those of all hosts before them have no room.
let good = (0..<100)
    .map { number in
        StoredTransfer(id: .random(), urls: ["http://good.example/\(number)"], directory: "/", added: 1_700_000_000)
    }
try await store.write { (writer) throws(QueueStoreError) in try writer.add(good, at: nil) }
var query = TurnQuery(session: nil, limit: 256)
for host in 0..<hosts { query.room[HostKey(["https://downloads\(host).example.com/"])] = 0 }
let blocked = query
try await measure("next to run behind \(count - ended) of \(hosts) blocked hosts") {
    let found = try await store.read { (reader) throws(QueueStoreError) in try reader.nextToRun(blocked).count }
    if found != 100 { print("found \(found) of 100") }
}
query.room = [:]
query.usualRoom = 4
let fair = query
try await measure("next to run, 4 of each host") {
    _ = try await store.read { (reader) throws(QueueStoreError) in try reader.nextToRun(fair).count }
}
query.usualRoom = nil
query.limit = 5000
let taken = try await store.read { [query] (reader) throws(QueueStoreError) in try reader.nextToRun(query).map(\.id) }
query.limit = 256
query.excluded = Set(taken)
let excluding = query
try await measure("next to run behind 5000 that were taken") {
    _ = try await store.read { (reader) throws(QueueStoreError) in try reader.nextToRun(excluding).count }
}
for (name, from, to) in [
    ("pause", TransferRecord.State.waiting, TransferRecord.State.paused), ("resume", .paused, .waiting),
] {
    begin = clock.now
    let changed = try await store.write { (writer) throws(QueueStoreError) in
        try writer.setState(to, from: from, session: nil)
    }
    print("\(name) all \(changed): \(milliseconds(clock.now - begin)); \(memory())")
}
begin = clock.now
let list = try await store.snapshot(states: Set(TransferRecord.State.allCases), session: nil)
print("list of \(list.count), spooled: \(milliseconds(clock.now - begin)); \(memory())")
var bytes = 0
while true {
    let page = try list.next(1000)
    if page.isEmpty { break }
    bytes += page.reduce(0) { $0 + $1.urls[0].utf8.count }
}
print("list read (\(bytes >> 20) MiB of URLs): \(milliseconds(clock.now - begin)); \(memory())")

/// Small reads and writes until `isDone`, and the slowest of them.
func probe(_ name: String, _ isDone: @Sendable () async throws -> Bool) async throws {
    let begin = clock.now
    var (reads, writes) = ([Duration](), [Duration]())
    while try await !isDone() {
        var start = clock.now
        _ = try await store.read { (reader) throws(QueueStoreError) in try reader.counts() }
        reads.append(clock.now - start)
        start = clock.now
        try await store.write { (writer) throws(QueueStoreError) in try writer.setSetting("a", "1") }
        writes.append(clock.now - start)
        try await Task.sleep(for: .milliseconds(5))
    }
    print(
        "\(name) done in the background: \(milliseconds(clock.now - begin)); meanwhile slowest read "
            + "\(milliseconds(reads.max() ?? .zero)), slowest write \(milliseconds(writes.max() ?? .zero)); \(memory())"
    )
}

begin = clock.now
let forgotten = try await store.write { (writer) throws(QueueStoreError) in try writer.forgetEnded(session: nil) }
print("forget \(forgotten.values.reduce(0, +)): \(milliseconds(clock.now - begin))")
try await probe("forgetting") { [store] in
    try await store.read { (reader) throws(QueueStoreError) in !reader.isSweeping }
}
store.onRemoved { _, _ in }
for kept in [Int.max, 1000] {
    let half = try await store.read { (reader) throws(QueueStoreError) in try reader.counts(session: nil)[.waiting] ?? 0
    }
    begin = clock.now
    let removed = try await store.write { (writer) throws(QueueStoreError) in
        try writer.removeAll(session: nil, at: 1, keeping: kept, deletesPartial: false).removed
    }
    print("remove \(removed) of \(half), keeping \(min(kept, removed)): \(milliseconds(clock.now - begin))")
    try await probe("removing") { [store] in
        try await store.read { (reader) throws(QueueStoreError) in !reader.isSweeping }
    }
    guard kept == .max else { break }
    begin = clock.now
    let again = try await store.write { (writer) throws(QueueStoreError) in
        try writer.forgetEnded(session: nil).values.reduce(0, +)
    }
    print("forget \(again): \(milliseconds(clock.now - begin))")
    try await probe("forgetting") { [store] in
        try await store.read { (reader) throws(QueueStoreError) in !reader.isSweeping }
    }
    for batch in stride(from: 0, to: count, by: 1000) {
        let entries = (batch..<min(count, batch + 1000))
            .map { number in
                StoredTransfer(
                    id: .random(),
                    urls: ["https://downloads\(number % hosts).example.com/some/directory/file-\(number).tar.gz"],
                    directory: "/home/user/Downloads",
                    added: 1_700_000_000
                )
            }
        try await store.write { (writer) throws(QueueStoreError) in try writer.add(entries, at: nil) }
    }
}
try await figures(store, Set(TransferRecord.State.allCases), of: 1000)
begin = clock.now
await store.finishChores()
print("pages returned: \(milliseconds(clock.now - begin))")
var status = stat()
for suffix in ["", "-wal"] where stat(path + suffix, &status) == 0 {
    print("size\(suffix): \(status.st_size >> 20) MiB")
}
await store.close()
