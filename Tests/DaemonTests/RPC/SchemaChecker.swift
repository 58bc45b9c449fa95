// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control

/// Checks values against a JSON schema, as far as our own schema uses the language.
struct SchemaChecker {
    let schema: JSON

    /// The violations of a value, each with its place; empty if there are none.
    func problems(_ value: JSON, _ definition: String) -> [String] {
        guard let rule = self.schema["$defs"]?[definition] else { return ["no definition \(definition)"] }
        return self.check(value, rule, definition)
    }

    private func check(_ value: JSON, _ rule: JSON, _ place: String) -> [String] {
        var problems: [String] = []
        for member in rule.object ?? [] {
            switch member.name {
            case "$ref":
                let name = String((member.value.string ?? "").dropFirst("#/$defs/".count))
                problems += self.schema["$defs"]?[name].map { self.check(value, $0, place) } ?? ["no \(name)"]
            case "type":
                let types = member.value.array?.compactMap(\.string) ?? [member.value.string ?? ""]
                if !types.contains(where: { Self.isOf($0, value) }) { problems.append("\(place) is no \(types)") }
            case "enum":
                if member.value.array?.contains(value) != true { problems.append("\(place) is none of the values") }
            case "const":
                if member.value != value { problems.append("\(place) is not the value") }
            case "required":
                for name in member.value.array?.compactMap(\.string) ?? [] where value[name] == nil {
                    problems.append("\(place).\(name) is missing")
                }
            case "properties":
                for property in member.value.object ?? [] {
                    if let inner = value[property.name] {
                        problems += self.check(inner, property.value, "\(place).\(property.name)")
                    }
                }
            case "additionalProperties":
                for inner in value.object ?? [] where rule["properties"]?[inner.name] == nil {
                    if member.value == false {
                        problems.append("\(place).\(inner.name) is not in the schema")
                    } else {
                        problems += self.check(inner.value, member.value, "\(place).\(inner.name)")
                    }
                }
            case "items":
                for (index, inner) in (value.array ?? []).enumerated() {
                    problems += self.check(inner, member.value, "\(place)[\(index)]")
                }
            case "anyOf", "oneOf":
                let fitting = (member.value.array ?? []).count { self.check(value, $0, place).isEmpty }
                if fitting == 0 || member.name == "oneOf" && fitting != 1 {
                    problems.append("\(place) fits \(fitting) of \(member.name)")
                }
            default: break
            }
        }
        return problems
    }

    private static func isOf(_ type: String, _ value: JSON) -> Bool {
        switch (type, value) {
        case ("null", .null), ("boolean", .bool), ("integer", .integer), ("number", .integer), ("number", .number),
            ("string", .string), ("array", .array), ("object", .object):
            true
        default: false
        }
    }
}
