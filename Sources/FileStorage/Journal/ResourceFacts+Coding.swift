import TransferEngine

extension ResourceFacts {
    private static let absent = UInt32.max

    /// The journal's form: the length (-1 for unknown), then six strings, each behind its count of UTF-8 bytes.
    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: UInt64(bitPattern: self.length ?? -1))
        for string in [self.url, self.finalURL, self.entityTag, self.lastModified, self.date, self.contentEncoding] {
            guard let string else {
                bytes.append(littleEndian: Self.absent)
                continue
            }
            let utf8 = Array(string.utf8)
            bytes.append(littleEndian: UInt32(truncatingIfNeeded: utf8.count))
            bytes.append(contentsOf: utf8)
        }
        return bytes
    }

    /// The facts as they fit into `capacity` bytes.
    ///
    /// What is dropped makes resuming stricter, never laxer: the final URL is only told to the user; without a
    /// validator the bytes are compared; a shortened URL equals no other, so that the file begins anew.
    func encoded(capacity: Int) -> [UInt8] {
        var facts = self
        var bytes = facts.encoded()
        if bytes.count > capacity {
            facts.finalURL = ""
            bytes = facts.encoded()
        }
        if bytes.count > capacity {
            facts.entityTag = nil
            facts.lastModified = nil
            facts.date = nil
            bytes = facts.encoded()
        }
        if bytes.count > capacity {
            // An encoding that does not fit must not be taken for none.
            if facts.contentEncoding != nil { facts.contentEncoding = "unknown" }
            facts.url = String(decoding: facts.url.utf8.prefix(max(0, capacity - 256)), as: UTF8.self)
            while facts.encoded().count > capacity, !facts.url.isEmpty { facts.url.removeLast() }
            bytes = facts.encoded()
        }
        return bytes
    }

    /// Reads the journal's form; `nil` where it is cut off or says what cannot be.
    init?(encoded bytes: ArraySlice<UInt8>) {
        var rest = bytes
        guard let word: UInt64 = rest.removeLittleEndian() else { return nil }
        let length = Int64(bitPattern: word)
        guard length >= -1 else { return nil }
        var strings: [String?] = []
        for _ in 0..<6 {
            guard let count: UInt32 = rest.removeLittleEndian() else { return nil }
            if count == Self.absent {
                strings.append(nil)
                continue
            }
            guard count <= rest.count else { return nil }
            strings.append(String(decoding: rest.prefix(Int(count)), as: UTF8.self))
            rest = rest.dropFirst(Int(count))
        }
        guard let url = strings[0], let finalURL = strings[1] else { return nil }
        self.init(
            url: url,
            finalURL: finalURL,
            length: length == -1 ? nil : length,
            entityTag: strings[2],
            lastModified: strings[3],
            date: strings[4],
            contentEncoding: strings[5]
        )
    }
}

extension Array where Element == UInt8 {
    /// Appends a number, its lowest byte first.
    mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
        Swift.withUnsafeBytes(of: number.littleEndian) { self.append(contentsOf: $0) }
    }

    /// Overwrites bytes with a number; nothing where it does not fit.
    mutating func store<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        let size = MemoryLayout<Number>.size
        guard offset >= 0, offset <= self.count - size else { return }
        Swift.withUnsafeBytes(of: number.littleEndian) { self.replaceSubrange(offset..<(offset + size), with: $0) }
    }

    /// Reads a number; 0 where there are not enough bytes.
    func load<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number {
        guard offset >= 0, offset <= self.count - MemoryLayout<Number>.size else { return 0 }
        return self.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
    }
}

extension ArraySlice where Element == UInt8 {
    /// Takes a number from the front, its lowest byte first.
    fileprivate mutating func removeLittleEndian<Number: FixedWidthInteger>() -> Number? {
        let size = MemoryLayout<Number>.size
        guard self.count >= size else { return nil }
        let number = self.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(as: Number.self)) }
        self = self.dropFirst(size)
        return number
    }
}
