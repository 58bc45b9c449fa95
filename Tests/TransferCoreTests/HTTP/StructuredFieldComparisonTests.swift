// SPDX-License-Identifier: Apache-2.0
import RawStructuredFieldValues
import Testing

@testable import TransferCore

/// Compares the parser with that of swift-http-structured-headers (decision 0042).
@Suite("Structured fields, beside swift-http-structured-headers")
struct StructuredFieldComparisonTests {
    private static let fields = [
        "5", "-999999999999999", "4.5", "-0.001", "123456789012.123", "\"a\\\"\\\\ b\"", "*foo/b:ar", ":aGk=:", "?1",
        "@1659578233", "%\"f%c3%bc r\"", "5;a; b=tok;*c=\"x\";a=?0", "a=1, b , c;x=?0, a=(2 3),*d=:AA==:",
        "a \t,\t 1 , ( b  ?1 );p=2, ()", "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:",
    ]
    private static let alphabet = Array("?10;=,()\"\\:%@ab*- \t.é/+".utf8)

    @Test("Both accept the same mutated fields, with the same values")
    func mutatedFields() {
        var generator = SystemRandomNumberGenerator()
        var accepted = 0
        for _ in 0..<20_000 {
            let field = Self.mutated(&generator)
            let item = StructuredItem(field)
            #expect(item == Reference.item(field), "\(field.debugDescription)")
            let list = StructuredFieldParser.list(field)
            #expect(list == Reference.list(field), "\(field.debugDescription)")
            let dictionary = StructuredFieldParser.dictionary(field)
            let reference = Reference.dictionary(field)
            #expect(dictionary?.map(\.name) == reference?.map(\.name), "\(field.debugDescription)")
            #expect(dictionary?.map(\.value) == reference?.map(\.value), "\(field.debugDescription)")
            if item != nil || list != nil || dictionary != nil { accepted += 1 }
        }
        #expect(accepted > 1000)
    }

    private static func mutated(_ generator: inout some RandomNumberGenerator) -> String {
        var bytes = Array(Self.fields[Int.random(in: 0..<Self.fields.count, using: &generator)].utf8)
        for _ in 0..<Int.random(in: 0..<4, using: &generator) {
            let byte = Self.alphabet[Int.random(in: 0..<Self.alphabet.count, using: &generator)]
            let index = Int.random(in: 0...bytes.count, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes.insert(byte, at: index)
            case 1 where index < bytes.count: bytes.remove(at: index)
            case _ where index < bytes.count: bytes[index] = byte
            default: continue
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The package's results as values of ours; `nil` for a malformed field, and for base64 that is malformed.
private enum Reference {
    static func item(_ field: String) -> StructuredItem? {
        var parser = StructuredFieldValueParser(Array(field.utf8))
        return (try? parser.parseItemFieldValue()).flatMap(Self.item)
    }

    static func list(_ field: String) -> [StructuredMember]? {
        var parser = StructuredFieldValueParser(Array(field.utf8))
        return (try? parser.parseListFieldValue()).flatMap { Self.all($0, Self.member) }
    }

    static func dictionary(_ field: String) -> [(name: String, value: StructuredMember)]? {
        var parser = StructuredFieldValueParser(Array(field.utf8))
        return (try? parser.parseDictionaryFieldValue())
            .flatMap { members in
                Self.all(Array(members)) { name, value in Self.member(value).map { (name, $0) } }
            }
    }

    private static func member(_ member: ItemOrInnerList) -> StructuredMember? {
        switch member {
        case .item(let item): return Self.item(item).map { .item($0) }
        case .innerList(let list):
            guard let items = Self.all(Array(list.bareInnerList), Self.item),
                let parameters = Self.parameters(list.rfc9651Parameters)
            else { return nil }
            return .innerList(items, parameters: parameters)
        }
    }

    private static func item(_ item: Item) -> StructuredItem? {
        guard let value = Self.value(item.rfc9651BareItem), let parameters = Self.parameters(item.rfc9651Parameters)
        else { return nil }
        return StructuredItem(value: value, parameters: parameters)
    }

    private static func parameters(
        _ parameters: OrderedMap<String, RFC9651BareItem>
    ) -> [String: TransferCore.BareItem]? {
        Self.all(Array(parameters)) { name, value in Self.value(value).map { (name, $0) } }
            .map { Dictionary($0) { _, last in last } }
    }

    private static func value(_ item: RFC9651BareItem) -> TransferCore.BareItem? {
        switch item {
        case .bool(let value): .boolean(value)
        case .integer(let value): .integer(Int64(value))
        case .decimal(let value):
            .decimal(thousandths: value.mantissa * [1000, 100, 10, 1][-Int(value.exponent)])
        case .string(let value): .string(value)
        case .undecodedByteSequence(let value): Base64.decode(Array(value.utf8)).map { .bytes($0) }
        case .token(let value): .token(value)
        case .date(let value): .date(Int64(value))
        case .displayString(let value): .displayString(value)
        }
    }

    private static func all<Element, Result>(_ elements: [Element], _ map: (Element) -> Result?) -> [Result]? {
        let results = elements.compactMap(map)
        return results.count == elements.count ? results : nil
    }
}
