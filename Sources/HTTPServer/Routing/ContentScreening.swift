// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// Searches the beginning of content for a credential while it arrives.
package protocol ContentScreen {
    /// Examines the next bytes; returns true when the content authenticates its client.
    mutating func admits(_ bytes: UnsafeRawBufferPointer) -> Bool
}

/// The limits for content whose client is not authenticated.
package struct ContentScreening: Sendable {
    /// The number of bytes within which the credential must be; longer content without it is refused.
    let limit: Int
    /// The limit for all such content together.
    let budget: UnauthenticatedContent
    /// Creates the screen of a request's content, or of a WebSocket message.
    let screen: @Sendable () -> any ContentScreen

    package init(limit: Int, budget: UnauthenticatedContent, _ screen: @escaping @Sendable () -> any ContentScreen) {
        self.limit = limit
        self.budget = budget
        self.screen = screen
    }
}

/// A limit for the content of all unauthenticated clients that is in memory: for one byte too much, the oldest content
/// is dropped.
package final class UnauthenticatedContent: Sendable {
    private struct State {
        var table: ContentTable
        var onDrop: [Int: @Sendable () -> Void] = [:]
    }

    private let state: Mutex<State>

    /// Creates a limit of a number of bytes.
    package init(limit: Int) { self.state = Mutex(State(table: ContentTable(limit: limit))) }

    /// The number of bytes in memory.
    package var total: Int { self.state.withLock { $0.table.total } }

    /// Begins to count content.
    ///
    /// - Parameter onDrop: Called on any thread, at most once, when the content is dropped for other content.
    /// - Returns: The content's share.
    func lease(onDrop: @escaping @Sendable () -> Void) -> ContentLease {
        ContentLease(
            self,
            self.state.withLock { state in
                let id = state.table.opened()
                state.onDrop[id] = onDrop
                return id
            }
        )
    }

    fileprivate func grow(_ id: Int, by count: Int) -> Bool {
        let (isKept, dropped) = self.state.withLock { state -> (Bool, [@Sendable () -> Void]) in
            switch state.table.grew(id, by: count) {
            case .keep(let ids): return (true, ids.compactMap { state.onDrop.removeValue(forKey: $0) })
            case .drop, .unknown:
                state.onDrop[id] = nil
                return (false, [])
            }
        }
        for drop in dropped { drop() }
        return isKept
    }

    fileprivate func shrink(_ id: Int, by count: Int) { self.state.withLock { $0.table.shrank(id, by: count) } }

    fileprivate func pin(_ id: Int) { self.state.withLock { $0.table.pinned(id) } }

    fileprivate func close(_ id: Int) {
        self.state.withLock { state in
            state.onDrop[id] = nil
            state.table.closed(id)
        }
    }
}

/// The share of one content in ``UnauthenticatedContent``.
final class ContentLease: Sendable {
    private let budget: UnauthenticatedContent
    private let id: Int

    fileprivate init(_ budget: UnauthenticatedContent, _ id: Int) {
        self.budget = budget
        self.id = id
    }

    deinit { self.close() }

    /// Counts more bytes; returns false if the content must be dropped.
    func grow(by count: Int) -> Bool { self.budget.grow(self.id, by: count) }

    /// Releases bytes.
    func shrink(by count: Int) { self.budget.shrink(self.id, by: count) }

    /// The content is being handled: it is counted, but not dropped.
    func pin() { self.budget.pin(self.id) }

    /// Releases all bytes; further ones are not counted.
    func close() { self.budget.close(self.id) }
}
