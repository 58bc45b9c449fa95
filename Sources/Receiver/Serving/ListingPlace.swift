// SPDX-License-Identifier: Apache-2.0
internal import NIOPosix
internal import Synchronization

/// The threads on which directories are listed, and the limits of all listings.
///
/// They are separate from the threads for uploads and downloads: a listing of a large directory takes a while, and a
/// client that asks for many must not delay others.
final class ListingPlace: Sendable {
    static let threads = 2
    /// The maximum number of listings that are being read or wait for it.
    private static let mostWaiting = 512
    /// The maximum memory of listings that are being sent, in bytes; a single one may be larger.
    private static let mostBytes = 64 << 20

    let pool = NIOThreadPool(numberOfThreads: ListingPlace.threads)
    private let waiting = Atomic<Int>(0)
    private let bytes = Atomic<Int>(0)

    init() {}

    /// Registers a listing that is to be read; returns false if too many wait.
    func enter() -> Bool {
        guard self.waiting.add(1, ordering: .relaxed).newValue <= Self.mostWaiting else {
            self.leave()
            return false
        }
        return true
    }

    /// A listing has been read.
    func leave() { self.waiting.subtract(1, ordering: .relaxed) }

    /// Whether listings wait for a thread.
    var isBusy: Bool { self.waiting.load(ordering: .relaxed) > Self.threads }

    /// Charges the memory of a listing until the charge is released; `nil` if the limit is reached.
    func charge(_ count: Int) -> Charge? {
        let before = self.bytes.add(count, ordering: .relaxed).oldValue
        let charge = Charge(count, of: self)
        return before == 0 || before + count <= Self.mostBytes ? charge : nil
    }

    /// The memory of one listing.
    final class Charge: Sendable {
        private let count: Int
        private let place: ListingPlace

        init(_ count: Int, of place: ListingPlace) {
            self.count = count
            self.place = place
        }

        deinit { self.place.bytes.subtract(self.count, ordering: .relaxed) }
    }
}
