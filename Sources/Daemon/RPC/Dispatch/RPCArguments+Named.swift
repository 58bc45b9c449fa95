// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

extension RPCArguments {
    private func value(_ name: String) -> JSON? {
        guard let value = self.named[name], !value.isNull else { return nil }
        return value
    }

    private func required<T>(_ name: String, _ what: String, _ read: (JSON) -> T?) throws(ControlError) -> T {
        guard let value = self.value(name) else {
            throw ControlError(.badParameter, "\"\(name)\" is missing", remedy: "give \(what)")
        }
        return try Self.read(value, name, what, read)
    }

    private func optional<T>(_ name: String, _ what: String, _ read: (JSON) -> T?) throws(ControlError) -> T? {
        guard let value = self.value(name) else { return nil }
        return try Self.read(value, name, what, read)
    }

    private static func read<T>(
        _ value: JSON,
        _ name: String,
        _ what: String,
        _ read: (JSON) -> T?
    ) throws(ControlError) -> T {
        guard let result = read(value) else {
            throw ControlError(.badParameter, "\"\(name)\" has the wrong type or value", remedy: "give \(what)")
        }
        return result
    }

    /// Whether a member exists, even if it is `null`.
    func has(_ name: String) -> Bool { self.named[name] != nil }

    func string(named name: String) throws(ControlError) -> String { try self.required(name, "a text", \.string) }
    func optionalString(named name: String) throws(ControlError) -> String? {
        try self.optional(name, "a text", \.string)
    }
    func flag(named name: String, default value: Bool) throws(ControlError) -> Bool {
        try self.optional(name, "true or false", \.bool) ?? value
    }
    func integer(named name: String) throws(ControlError) -> Int64 {
        try self.required(name, "a whole number", \.integer)
    }
    func optionalInteger(named name: String) throws(ControlError) -> Int64? {
        try self.optional(name, "a whole number", \.integer)
    }

    /// Returns an array of non-empty texts.
    func strings(named name: String) throws(ControlError) -> [String] {
        try self.required(name, "an array of texts", Self.texts)
    }
    func optionalStrings(named name: String) throws(ControlError) -> [String]? {
        try self.optional(name, "an array of texts", Self.texts)
    }

    /// Returns an object, or `nil` if the member is missing or `null`.
    func optionalObject(named name: String) throws(ControlError) -> JSON? {
        try self.optional(name, "an object") { $0.object == nil ? nil : $0 }
    }

    /// Returns an array of objects.
    func objects(named name: String) throws(ControlError) -> [JSON] {
        try self.required(name, "an array of objects") { json in
            guard let elements = json.array, elements.allSatisfy({ $0.object != nil }) else { return nil }
            return elements
        }
    }

    private static func texts(_ json: JSON) -> [String]? {
        guard let elements = json.array else { return nil }
        let texts = elements.compactMap(\.string)
        return texts.count == elements.count && texts.allSatisfy { !$0.isEmpty } ? texts : nil
    }
}
