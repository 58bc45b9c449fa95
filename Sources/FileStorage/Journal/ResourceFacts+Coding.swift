// SPDX-License-Identifier: Apache-2.0
import TransferCore

extension ResourceFacts {
    /// Encodes the facts for the journal.
    ///
    /// The length (-1 for unknown), then strings, each preceded by its number of UTF-8 bytes: URL, final URL, entity
    /// tag, Last-Modified, Date, Content-Encoding. Journals written before November 2026 end here. Then the time of
    /// reception (-1 for unknown), media type, Repr-Digest and consistency as strings, a byte of flags, and the former
    /// versions, preceded by their number. Builds of November 2026 may end here. Then the differing URLs, preceded by
    /// their number. Builds before 26 November 2026 end here. Then the file that the bytes continue, as a string.
    ///
    /// The flags are 1 if the source is unreliable and 2 if the bytes are contradicted; a build without the second one
    /// takes every other value than 0 as unreliable, and ignores what follows the former versions.
    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: UInt64(bitPattern: self.length ?? -1))
        for string in [self.url, self.finalURL, self.entityTag, self.lastModified, self.date, self.contentEncoding] {
            bytes.append(string: string)
        }
        bytes.append(littleEndian: UInt64(bitPattern: self.received ?? -1))
        for string in [self.mediaType, self.representationDigest, self.consistency?.rawValue] {
            bytes.append(string: string)
        }
        bytes.append((self.isUnreliable ? Self.unreliableFlag : 0) | (self.isContradicted ? Self.contradictedFlag : 0))
        for list in [self.formerVersions, self.differing] {
            bytes.append(littleEndian: UInt32(list.count))
            for string in list { bytes.append(string: string) }
        }
        bytes.append(string: self.continued)
        return bytes
    }

    /// Encodes the facts, shortened to `capacity` bytes.
    ///
    /// Omissions make resuming stricter, never laxer: the final URL is only displayed; without a validator, the bytes
    /// are compared; a shortened URL matches no other, so the file restarts. If the former versions do not fit, the
    /// source is marked as unreliable; if the differing URLs do not, the bytes are contradicted.
    func encoded(capacity: Int) -> [UInt8] {
        var facts = self
        var bytes = facts.encoded()
        if bytes.count > capacity {
            facts.finalURL = ""
            facts.mediaType = nil
            facts.representationDigest = nil
            bytes = facts.encoded()
        }
        if bytes.count > capacity {
            if !facts.formerVersions.isEmpty { facts.isUnreliable = true }
            facts.formerVersions = []
            if !facts.differing.isEmpty { facts.isContradicted = true }
            facts.differing = []
            facts.entityTag = nil
            facts.lastModified = nil
            facts.date = nil
            bytes = facts.encoded()
        }
        if bytes.count > capacity {
            // An encoding that does not fit must not be read as no encoding.
            if facts.contentEncoding != nil { facts.contentEncoding = "unknown" }
            facts.url = String(decoding: facts.url.utf8.prefix(max(0, capacity - 256)), as: UTF8.self)
            while facts.encoded().count > capacity, !facts.url.isEmpty { facts.url.removeLast() }
            bytes = facts.encoded()
        }
        return bytes
    }

    /// Decodes facts from the journal; `nil` if they are truncated or invalid.
    init?(encoded bytes: ArraySlice<UInt8>) {
        var rest = bytes
        guard let word: UInt64 = rest.removeLittleEndian() else { return nil }
        let length = Int64(bitPattern: word)
        guard length >= -1, let strings = rest.removeStrings(6), let url = strings[0], let finalURL = strings[1] else {
            return nil
        }
        self.init(
            url: url,
            finalURL: finalURL,
            length: length == -1 ? nil : length,
            entityTag: strings[2],
            lastModified: strings[3],
            date: strings[4],
            contentEncoding: strings[5]?.lowercased()
        )
        // Journals of earlier builds end here.
        if rest.isEmpty { return }
        guard let received: UInt64 = rest.removeLittleEndian(), let more = rest.removeStrings(3),
            let flags = rest.popFirst(), let count: UInt32 = rest.removeLittleEndian(),
            count <= Self.formerLimit, let former = rest.removeStrings(Int(count))
        else { return nil }
        self.received = received == .max ? nil : Int64(bitPattern: received)
        self.mediaType = more[0]
        self.representationDigest = more[1]
        // An unknown value of a later build is treated as `overlap`, the weakest evidence.
        self.consistency = more[2].map { Consistency(rawValue: $0) ?? .overlap }
        self.isUnreliable = flags & ~Self.contradictedFlag != 0
        self.isContradicted = flags & Self.contradictedFlag != 0
        self.formerVersions = former.compactMap(\.self)
        // Journals of earlier builds end here.
        if rest.isEmpty { return }
        guard let count: UInt32 = rest.removeLittleEndian(), count <= Self.differingLimit,
            let differing = rest.removeStrings(Int(count))
        else { return nil }
        self.differing = differing.compactMap(\.self)
        // Journals of earlier builds end here.
        if rest.isEmpty { return }
        guard let continued = rest.removeStrings(1) else { return nil }
        self.continued = continued[0]
    }

    private static let unreliableFlag: UInt8 = 1
    private static let contradictedFlag: UInt8 = 2
}

/// The length that encodes a missing string.
private let absentString = UInt32.max

extension Array where Element == UInt8 {
    /// Appends a string, preceded by its number of UTF-8 bytes.
    fileprivate mutating func append(string: String?) {
        guard let string else { return self.append(littleEndian: absentString) }
        let utf8 = Array(string.utf8)
        self.append(littleEndian: UInt32(truncatingIfNeeded: utf8.count))
        self.append(contentsOf: utf8)
    }

    /// Appends a number in little-endian order.
    mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
        Swift.withUnsafeBytes(of: number.littleEndian) { self.append(contentsOf: $0) }
    }

    /// Overwrites bytes with a number; does nothing if they are out of bounds.
    mutating func store<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        let size = MemoryLayout<Number>.size
        guard offset >= 0, offset <= self.count - size else { return }
        Swift.withUnsafeBytes(of: number.littleEndian) { self.replaceSubrange(offset..<(offset + size), with: $0) }
    }

    /// Reads a number; returns 0 if it is out of bounds.
    func load<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number {
        guard offset >= 0, offset <= self.count - MemoryLayout<Number>.size else { return 0 }
        return self.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
    }
}

extension ArraySlice where Element == UInt8 {
    /// Removes a little-endian number from the front.
    fileprivate mutating func removeLittleEndian<Number: FixedWidthInteger>() -> Number? {
        let size = MemoryLayout<Number>.size
        guard self.count >= size else { return nil }
        let number = self.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(as: Number.self)) }
        self = self.dropFirst(size)
        return number
    }

    /// Removes `count` strings with their lengths from the front; `nil` if they are truncated.
    fileprivate mutating func removeStrings(_ count: Int) -> [String?]? {
        var strings: [String?] = []
        for _ in 0..<count {
            guard let size: UInt32 = self.removeLittleEndian() else { return nil }
            if size == absentString {
                strings.append(nil)
                continue
            }
            guard size <= self.count else { return nil }
            strings.append(String(decoding: self.prefix(Int(size)), as: UTF8.self))
            self = self.dropFirst(Int(size))
        }
        return strings
    }
}
