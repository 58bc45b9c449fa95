// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// The names of files that running uploads will create.
final class NameReservations: Sendable {
    private let names = Mutex<Set<[UInt8]>>([])

    init() {}

    /// Reserves a name; `nil` if it is reserved.
    func take(_ place: LandingPlace) -> NameReservation? {
        // Bytes, because strings are equal also if their normal forms, and so their files, differ.
        let key = Array((place.directory + [place.name]).joined(separator: "/").utf8)
        return self.names.withLock { $0.insert(key).inserted } ? NameReservation(key, of: self) : nil
    }

    fileprivate func release(_ key: [UInt8]) { self.names.withLock { _ = $0.remove(key) } }
}

/// The reservation of a name, until it is released.
final class NameReservation: Sendable {
    private let key: [UInt8]
    private let reservations: NameReservations
    private let isReleased = Atomic<Bool>(false)

    fileprivate init(_ key: [UInt8], of reservations: NameReservations) {
        self.key = key
        self.reservations = reservations
    }

    deinit { self.release() }

    /// Releases the name; only the first call has an effect.
    func release() {
        guard !self.isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
        self.reservations.release(self.key)
    }
}
