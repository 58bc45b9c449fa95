// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Collects the content of a request within limits.
package final class ContentCollector {
    /// The reason why content is not collected.
    package enum Refusal: Error, Hashable, Sendable {
        /// The content has more bytes than this limit.
        case tooLarge(limit: Int)
        /// The content has more bytes than this limit, and no credential within them.
        case unauthenticated(limit: Int)
        /// The limit for the content of all requests is reached.
        case busy
    }

    /// The state while the client is not authenticated.
    private struct Screened {
        var screen: any ContentScreen
        let limit: Int
        let lease: ContentLease
    }

    private let limit: Int
    private let budget: ByteBudget
    private let screening: ContentScreening?
    private var screened: Screened?
    private var bytes: [UInt8] = []
    private var taken = 0

    /// - Parameters:
    ///   - limit: The maximum number of bytes.
    ///   - budget: The limit for the content of all requests.
    ///   - screening: The limits for content whose client is not authenticated; `nil` if it is.
    init(limit: Int, budget: ByteBudget, screening: ContentScreening?) {
        self.limit = limit
        self.budget = budget
        self.screening = screening
    }

    deinit { self.release() }

    /// Prepares for content of a declared length, or of an unknown one.
    ///
    /// - Parameters:
    ///   - length: The length in bytes.
    ///   - onDrop: Called on any thread if the content must be refused with ``Refusal/busy``.
    /// - Throws: ``Refusal`` if the length exceeds the limit.
    func expect(_ length: Int64?, onDrop: @escaping @Sendable () -> Void) throws(Refusal) {
        if let length, length > Int64(self.limit) { throw .tooLarge(limit: self.limit) }
        if let screening {
            self.screened = Screened(
                screen: screening.screen(),
                limit: screening.limit,
                lease: screening.budget.lease(onDrop: onDrop)
            )
        } else if let length {
            self.bytes.reserveCapacity(min(Int(length), 1 << 20))
        }
    }

    /// Adds bytes.
    func append(_ more: UnsafeRawBufferPointer) throws(Refusal) {
        guard more.count <= self.limit - self.bytes.count else { throw .tooLarge(limit: self.limit) }
        try self.examine(more)
        if let screened {
            guard screened.lease.grow(by: more.count) else { throw .busy }
        } else {
            try self.take(more.count)
        }
        self.bytes.append(contentsOf: more)
    }

    /// Searches the first bytes for a credential; with one, the content so far counts toward the other budget.
    private func examine(_ more: UnsafeRawBufferPointer) throws(Refusal) {
        guard let limit = self.screened?.limit else { return }
        let room = limit - self.bytes.count
        guard self.screened?.screen.admits(more.part(0..<min(max(0, room), more.count))) == true else {
            guard more.count <= room else { throw .unauthenticated(limit: limit) }
            return
        }
        self.screened?.lease.close()
        self.screened = nil
        try self.take(self.bytes.count)
    }

    private func take(_ count: Int) throws(Refusal) {
        guard self.budget.take(count) else { throw .busy }
        self.taken += count
    }

    /// Returns the content, which counts toward the budget until ``release()``.
    func content() -> [UInt8] {
        self.screened?.lease.pin()
        defer { self.bytes = [] }
        return self.bytes
    }

    /// Releases the bytes to the budget.
    func release() {
        self.bytes = []
        self.budget.release(self.taken)
        self.taken = 0
        self.screened?.lease.close()
    }
}
