// SPDX-License-Identifier: Apache-2.0
/// Decides which shard a sample is written to, and in which order a full shard becomes durable.
///
/// Pure value: it performs no I/O and reads no clock. At most one shard is filled, and at most one other is closed at the same time: synced,
/// renamed, its name synced, and reported. The caller performs one step after the other and reports each.
///
/// - Invariant: A shard is renamed only after all earlier ones are reported.
struct ShardMachine {
    /// The next step for a sample that waits to be written.
    enum Admission: Equatable {
        /// Append it to the shard that is filled.
        case append
        /// Create this file; then ``created()``.
        case create(String)
        /// End the shard that is filled; then ``sealed(size:)``.
        case seal
        /// Complete the shard that is being closed.
        case waitForClosing
    }

    /// A step of closing a shard.
    enum Step: Equatable {
        /// Sync the data of this file.
        case sync(String)
        /// Rename it, without replacing a file.
        case rename(String, to: String)
        case syncDirectory
        /// Report the rows.
        case report(ClosedShard)
    }

    /// Whether to close the open shard because no row is added to it.
    enum Idleness: Equatable {
        /// No shard is open, or there is no limit.
        case none
        /// Look again at this time, in nanoseconds.
        case until(Int64)
        /// End it.
        case due
    }

    private struct Filling {
        var size: Int64 = 0
        /// The time of the last sample, in nanoseconds.
        var last: Int64 = 0
        var rows: [Int64] = []
        var names: Set<String> = []
    }

    private enum Stage {
        case sync
        case rename
        case syncDirectory
        case report
    }

    private let limits: ShardLimits
    /// The number of the shard that is filled, or will be.
    private var number: Int64
    private var filling: Filling?
    private var closing: (shard: ClosedShard, number: Int64, stage: Stage)?

    /// Creates a machine without a shard.
    ///
    /// - Parameters:
    ///   - limits: When a shard is full.
    ///   - next: The number of the first shard.
    init(limits: ShardLimits, next: Int64) {
        self.limits = limits
        self.number = next
    }

    /// The name of the shard that is filled.
    var name: String { ShardName.final(self.number) }
    /// Whether a shard is being closed.
    var isClosing: Bool { self.closing != nil }
    /// The size of the shard that is filled, without its end; 0 if there is none.
    var size: Int64 { self.filling?.size ?? 0 }
    /// Whether the shard that is filled accepts no further sample.
    var isFull: Bool {
        guard let filling = self.filling else { return false }
        return filling.rows.count >= self.limits.samples || filling.size + Self.end >= self.limits.bytes
    }
    /// The incomplete file that has no sample, or `nil`.
    var emptyPart: String? { self.filling?.rows.isEmpty == true ? ShardName.part(self.number) : nil }

    private static let end = Int64(TarFormat.end.count)

    // MARK: Filling

    /// The name of a row's sample in the shard that is filled.
    func sampleName(_ encoded: String, row: Int64) -> String {
        self.filling?.names.contains(encoded) == true ? SampleKey.distinct(encoded, row: row) : encoded
    }

    /// The next step for a sample whose members have `size` bytes.
    func admission(of size: Int64) -> Admission {
        guard let filling = self.filling else { return .create(ShardName.part(self.number)) }
        let fits = filling.size + size + Self.end <= self.limits.bytes && filling.rows.count < self.limits.samples
        if fits || filling.rows.isEmpty { return .append }
        return self.isClosing ? .waitForClosing : .seal
    }

    /// The step that ends the shard that is filled, or `nil` if it has no sample.
    var ending: Admission? {
        guard let filling = self.filling, !filling.rows.isEmpty else { return nil }
        return self.isClosing ? .waitForClosing : .seal
    }

    /// Whether the shard that is filled is closed although it is not full.
    func idleness(at now: Int64) -> Idleness {
        guard let limit = self.limits.idle, let filling = self.filling, !filling.rows.isEmpty else { return .none }
        return now - filling.last >= limit ? .due : .until(filling.last + limit)
    }

    /// The file of ``Admission/create(_:)`` was created.
    mutating func created() {
        precondition(self.filling == nil, "a shard was created while another one is filled")
        self.filling = Filling()
    }

    /// A sample was appended, at a time in nanoseconds.
    mutating func appended(_ row: Int64, named name: String, size: Int64, at now: Int64) {
        precondition(self.filling != nil, "a sample was appended without a shard")
        self.filling?.rows.append(row)
        self.filling?.names.insert(name)
        self.filling?.size += size
        self.filling?.last = now
    }

    /// The shard that is filled has all its bytes, but is not synced.
    ///
    /// - Parameter size: The size of the file.
    mutating func sealed(size: Int64) {
        guard let filling = self.filling, !self.isClosing else {
            preconditionFailure("a shard was sealed while another one is being closed")
        }
        self.closing = (ClosedShard(name: self.name, rows: filling.rows, size: size), self.number, .sync)
        self.filling = nil
        self.number += 1
    }

    // MARK: Closing

    /// The next step of the shard that is being closed, or `nil` if there is none; the same until ``performed()``.
    var step: Step? {
        guard let (shard, number, stage) = self.closing else { return nil }
        return switch stage {
        case .sync: .sync(ShardName.part(number))
        case .rename: .rename(ShardName.part(number), to: shard.name)
        case .syncDirectory: .syncDirectory
        case .report: .report(shard)
        }
    }

    /// The step was performed.
    mutating func performed() {
        guard let stage = self.closing?.stage else { preconditionFailure("a step was performed, but none was due") }
        switch stage {
        case .sync: self.closing?.stage = .rename
        case .rename: self.closing?.stage = .syncDirectory
        case .syncDirectory: self.closing?.stage = .report
        case .report: self.closing = nil
        }
    }
}
