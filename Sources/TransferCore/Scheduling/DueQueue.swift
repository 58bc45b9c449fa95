// SPDX-License-Identifier: Apache-2.0
/// The times at which elements become due, the earliest first: a binary heap.
struct DueQueue: Sendable {
    /// A time, and the transfer whose attempt is due then; `nil` for a wake-up only.
    struct Element: Sendable {
        var time: Int64
        var id: TransferID?
        /// The number of the host whose hold may end then; ``network`` for all hosts, ``shortage``, or -1 for none.
        var gate: Int32 = -1
        var kind = Kind.hold

        /// The kinds of waits that can end at the time.
        enum Kind: UInt8, Sendable {
            /// A hold of `gate`.
            case hold
            /// The interval between requests to the host with the number `gate`.
            case hostInterval
            /// The interval between requests to the domain with the number `gate`.
            case domainInterval
            /// The time limit of a transfer that waits because its host is held.
            case timeLimit
        }

        /// The network in place of a host.
        static let network: Int32 = -2
        /// A shortage of descriptors that may have ended.
        static let shortage: Int32 = -3
        /// A full or read-only file system for which an attempt may be due.
        static let fileSystems: Int32 = -4

        /// Orders by time, then by transfer.
        static func < (left: Element, right: Element) -> Bool {
            (left.time, left.id?.rawValue ?? 0) < (right.time, right.id?.rawValue ?? 0)
        }
    }

    private var heap: [Element] = []

    var count: Int { self.heap.count }
    var first: Element? { self.heap.first }

    mutating func insert(_ element: Element) {
        var index = self.heap.count
        self.heap.append(element)
        while index > 0 {
            let parent = (index - 1) / 2
            guard self.heap[index] < self.heap[parent] else { return }
            self.heap.swapAt(index, parent)
            index = parent
        }
    }

    /// Removes the earliest element if it is due.
    mutating func popDue(at now: Int64) -> Element? {
        guard let first = self.heap.first, first.time <= now else { return nil }
        self.heap.swapAt(0, self.heap.count - 1)
        self.heap.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < self.heap.count && self.heap[child] < self.heap[least] {
                least = child
            }
            guard least != index else { return first }
            self.heap.swapAt(index, least)
            index = least
        }
    }

    /// Keeps the elements that satisfy a condition.
    mutating func filter(_ isKept: (Element) -> Bool) {
        let kept = self.heap.filter(isKept)
        self.heap = []
        for element in kept { self.insert(element) }
    }
}
