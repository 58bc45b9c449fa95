// SPDX-License-Identifier: Apache-2.0
/// Collects the content of a request within limits.
package final class ContentCollector {
    /// The reason why content is not collected.
    package enum Refusal: Error, Hashable, Sendable {
        /// The content has more bytes than this limit.
        case tooLarge(limit: Int)
        /// The limit for the content of all requests is reached.
        case busy
    }

    private let limit: Int
    private let budget: ByteBudget
    private var bytes: [UInt8] = []
    private var taken = 0

    init(limit: Int, budget: ByteBudget) {
        self.limit = limit
        self.budget = budget
    }

    deinit { self.release() }

    /// Prepares for content of a declared length, or of an unknown one.
    func expect(_ length: Int64?) throws(Refusal) {
        guard let length else { return }
        guard length <= Int64(self.limit) else { throw .tooLarge(limit: self.limit) }
        self.bytes.reserveCapacity(min(Int(length), 1 << 20))
    }

    /// Adds bytes.
    func append(_ more: UnsafeRawBufferPointer) throws(Refusal) {
        guard more.count <= self.limit - self.bytes.count else { throw .tooLarge(limit: self.limit) }
        guard self.budget.take(more.count) else { throw .busy }
        self.taken += more.count
        self.bytes.append(contentsOf: more)
    }

    /// Returns the content, which counts toward the budget until ``release()``.
    func content() -> [UInt8] {
        defer { self.bytes = [] }
        return self.bytes
    }

    /// Releases the bytes to the budget.
    func release() {
        self.bytes = []
        self.budget.release(self.taken)
        self.taken = 0
    }
}
