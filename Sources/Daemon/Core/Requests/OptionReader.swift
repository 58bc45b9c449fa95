// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore

/// Parses the texts of options; each error names the option.
struct OptionReader {
    let options: TransferOptions

    func wrong(_ name: OptionName, _ wanted: String) -> ControlError {
        ControlError(.badParameter, "the option '\(name.rawValue)' has an invalid value", remedy: "give \(wanted)")
    }

    func flag(_ name: OptionName) throws(ControlError) -> Bool? {
        switch self.options[name] {
        case nil, "": nil
        case "true": true
        case "false": false
        default: throw self.wrong(name, "true or false")
        }
    }

    func count(_ name: OptionName, _ range: ClosedRange<Int>) throws(ControlError) -> Int? {
        guard let text = self.options[name], !text.isEmpty else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw self.wrong(name, "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// Returns a number of bytes, such as `1M`.
    func bytes(_ name: OptionName) throws(ControlError) -> Int64? {
        guard let text = self.options[name], !text.isEmpty else { return nil }
        guard let value = ByteCount.parse(text), value >= 0 else {
            throw self.wrong(name, "a number of bytes, such as 500K or 1M")
        }
        return value
    }

    /// Returns a number of bytes; zero means no limit.
    func limit(_ name: OptionName) throws(ControlError) -> Int64? {
        try self.bytes(name).flatMap { $0 > 0 ? $0 : nil }
    }

    /// Returns the lowest rate, averaged over the ten seconds over which aria2 averages it; `nil` for none.
    func speedFloor() throws(ControlError) -> SpeedFloor? {
        try self.bytes(.lowestSpeedLimit).flatMap { SpeedFloor(rate: $0, window: 10_000_000_000) }
    }

    /// Returns a duration given in seconds, up to a century.
    func seconds(_ name: OptionName) throws(ControlError) -> Duration? {
        guard let text = self.options[name], !text.isEmpty else { return nil }
        guard let value = Double(text), value >= 0, value <= 3_155_760_000 else {
            throw self.wrong(name, "a number of seconds")
        }
        return .seconds(value)
    }

    /// Returns header fields, each given as `Name: value`.
    func fields(_ name: OptionName) throws(ControlError) -> [(String, String)] {
        var fields: [(String, String)] = []
        for text in self.options[all: name] where !text.isEmpty {
            guard let colon = text.utf8.firstIndex(of: 0x3A), colon > text.startIndex else {
                throw self.wrong(name, "header fields as 'Name: value'")
            }
            let field = String(text[..<colon])
            let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            guard field.utf8.allSatisfy({ Byte.isTokenCharacter($0) }), Self.isValue(value) else {
                throw self.wrong(name, "header fields as 'Name: value', without control characters")
            }
            fields.append((field, String(value)))
        }
        return fields
    }

    /// Returns the value of a header field.
    func value(_ name: OptionName) throws(ControlError) -> String? {
        guard let text = self.options[name], !text.isEmpty else { return nil }
        guard Self.isValue(text) else { throw self.wrong(name, "a text without control characters") }
        return text
    }

    static func isValue(_ text: some StringProtocol) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
