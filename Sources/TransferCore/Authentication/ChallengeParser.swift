// SPDX-License-Identifier: Apache-2.0
/// Parses the challenges in a field's value.
///
/// Commas separate both parameters and challenges; a name after a comma is a parameter if `=` follows it.
///
/// - Source: RFC 9110 §11.2, §11.6.1; unquoted values may contain more than token characters, as in practice.
struct ChallengeParser {
    private let bytes: [UInt8]
    private var index = 0

    init(_ field: String) { self.bytes = Array(field.utf8) }

    /// Returns the next challenge; `nil` at the end, or from the first malformed position on.
    mutating func next() -> AuthenticationChallenge? {
        self.skipCommas()
        guard let scheme = self.token() else { return self.stop() }
        var challenge = AuthenticationChallenge(scheme: scheme)
        guard !self.isAtElementEnd else { return challenge }
        guard let byte = self.byte, Byte.isBlank(byte) else { return self.stop() }
        self.skipBlanks()
        if let token68 = self.token68() {
            challenge.token68 = token68
            return challenge
        }
        while self.readParameter(into: &challenge) {}
        return challenge
    }

    private var byte: UInt8? { self.index < self.bytes.count ? self.bytes[self.index] : nil }

    private var isAtElementEnd: Bool { self.byte == nil || self.byte == Byte.comma }

    private mutating func stop() -> AuthenticationChallenge? {
        self.index = self.bytes.count
        return nil
    }

    private mutating func skipBlanks() {
        while let byte = self.byte, Byte.isBlank(byte) { self.index += 1 }
    }

    private mutating func skipCommas() {
        while let byte = self.byte, Byte.isBlank(byte) || byte == Byte.comma { self.index += 1 }
    }

    private mutating func token() -> String? {
        let start = self.index
        while let byte = self.byte, Byte.isTokenCharacter(byte) { self.index += 1 }
        return start == self.index ? nil : String(decoding: self.bytes[start..<self.index], as: UTF8.self)
    }

    /// Parses a token68 if one is next and only a comma or the end follows it.
    private mutating func token68() -> String? {
        let start = self.index
        while let byte = self.byte, BearerAuthentication.isTokenByte(byte) { self.index += 1 }
        guard self.index > start else { return nil }
        while self.byte == 0x3D { self.index += 1 }
        let end = self.index
        self.skipBlanks()
        guard self.isAtElementEnd else {
            self.index = start
            return nil
        }
        return String(decoding: self.bytes[start..<end], as: UTF8.self)
    }

    /// Parses the next parameter; returns false if there is none, before another challenge and at a malformed position.
    private mutating func readParameter(into challenge: inout AuthenticationChallenge) -> Bool {
        let before = self.index
        self.skipCommas()
        let start = self.index
        guard let name = self.token() else { return false }
        self.skipBlanks()
        guard self.byte == 0x3D else {
            // Another challenge follows a comma; without a comma the list is malformed.
            self.index = self.bytes[before..<start].contains(Byte.comma) ? start : self.bytes.count
            return false
        }
        self.index += 1
        self.skipBlanks()
        guard let value = self.byte == 0x22 ? self.quoted() : self.unquoted() else {
            self.index = self.bytes.count
            return false
        }
        let key = String(decoding: name.utf8.map(ASCII.lowercase), as: UTF8.self)
        if challenge.parameters[key] == nil { challenge.parameters[key] = value }
        self.skipBlanks()
        guard self.isAtElementEnd else {
            self.index = self.bytes.count
            return false
        }
        return true
    }

    /// Parses a quoted string without its quotes and escapes; `nil` if it is not terminated.
    private mutating func quoted() -> String? {
        self.index += 1
        var value: [UInt8] = []
        while var byte = self.byte, byte != 0x22 {
            if byte == 0x5C {
                self.index += 1
                guard let escaped = self.byte else { return nil }
                byte = escaped
            }
            value.append(byte)
            self.index += 1
        }
        guard self.byte == 0x22 else { return nil }
        self.index += 1
        return String(decoding: value, as: UTF8.self)
    }

    private mutating func unquoted() -> String {
        let start = self.index
        while let byte = self.byte, !Byte.isBlank(byte), byte != Byte.comma, byte != 0x22 { self.index += 1 }
        return String(decoding: self.bytes[start..<self.index], as: UTF8.self)
    }
}
