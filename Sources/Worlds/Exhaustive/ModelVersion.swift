// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The contents of the exhaustive search: two versions of the file, and the login page of a network.
///
/// Only lengths and origins of bytes are modelled. Two versions have no byte in common at any offset.
enum ModelVersion: UInt8, Hashable, CaseIterable {
    case a
    case b
    case page

    /// The digest of a file that consists of this version.
    var digest: [UInt8] { [UInt8](repeating: self.rawValue + 1, count: 32) }
    var partDigest: [UInt8] { [UInt8](repeating: self.rawValue + 0x40, count: 32) }
    /// A digest that nothing has.
    static let noDigest = [UInt8](repeating: 0xFF, count: 32)

    /// The field value of a SHA-256 digest.
    static func field(_ digest: [UInt8]) -> String { "sha-256=:\(Base64.encode(digest)):" }
}

/// The validators of a response.
struct ModelValidators: Hashable {
    enum Tag: UInt8, Hashable {
        case none
        case a
        case b
        case otherNode
        case weakA
        case weakB
    }

    enum Time: UInt8, Hashable {
        case none
        case a
        case b
        /// The second of the response: another change may follow in it.
        case now
    }

    var tag: Tag
    var time: Time

    static let none = ModelValidators(tag: .none, time: .none)

    /// The validators that a version should have.
    static func right(_ version: ModelVersion) -> ModelValidators {
        switch version {
        case .a: ModelValidators(tag: .a, time: .a)
        case .b: ModelValidators(tag: .b, time: .b)
        case .page: .none
        }
    }

    static let date = "Sat, 21 Nov 2026 12:00:00 GMT"

    var entityTag: String? {
        switch self.tag {
        case .none: nil
        case .a: "\"a\""
        case .b: "\"b\""
        case .otherNode: "\"other-node\""
        case .weakA: "W/\"a\""
        case .weakB: "W/\"b\""
        }
    }

    var lastModified: String? {
        switch self.time {
        case .none: nil
        case .a: "Tue, 01 Jul 2025 10:00:00 GMT"
        case .b: "Wed, 02 Jul 2025 10:00:00 GMT"
        case .now: Self.date
        }
    }

    private var strongTag: Tag? { [.a, .b, .otherNode].contains(self.tag) ? self.tag : nil }
    private var strongTime: Time? { [.a, .b].contains(self.time) ? self.time : nil }

    /// Whether a response with these validators says, strongly, that it is of the version of another response.
    ///
    /// If their bytes differ nevertheless, one of the two responses lied.
    func claims(theVersionOf other: ModelValidators) -> Bool {
        if let strongTag { return strongTag == other.strongTag && (self.time == other.time) }
        let isTagComparable = self.tag == other.tag
        return isTagComparable && self.strongTime != nil && self.strongTime == other.strongTime
    }
}

/// The sizes of the model, and what a search is made of.
struct ModelScale: Sendable {
    /// The size of a unit in bytes: the overlap of `Docs/Versions.md`.
    var unit: Int64 = 64 << 10
    /// The number of units of each version: more than the limit of small files.
    var units: Int64 = 5
    /// The number of units by which the second version is longer.
    var growth: Int64 = 0
    var connections = 1

    func size(_ version: ModelVersion) -> Int64 {
        switch version {
        case .a: self.units * self.unit
        case .b: (self.units + self.growth) * self.unit
        case .page: 8 << 10
        }
    }
}
