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

    /// Returns the value of an option in the form that its rule writes; `nil` if it is missing or empty.
    private func text(_ name: OptionName) throws(ControlError) -> String? {
        guard let text = self.options[name], !text.isEmpty else { return nil }
        do throws(SyntaxError) {
            return try QueueOption(name).rule.value(text)
        } catch {
            throw self.wrong(name, error.remedy ?? "another")
        }
    }

    func count(_ name: OptionName) throws(ControlError) -> Int? { try self.text(name).flatMap { Int($0) } }

    /// Returns one of some named values.
    func choice<Value: RawRepresentable<String>>(_ name: OptionName) throws(ControlError) -> Value? {
        try self.text(name).flatMap { Value(rawValue: $0) }
    }

    /// Returns a number of bytes, such as `1M`.
    func bytes(_ name: OptionName) throws(ControlError) -> Int64? { try self.text(name).flatMap { Int64($0) } }

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
        try self.text(name).flatMap { Double($0) }.map { .seconds($0) }
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
