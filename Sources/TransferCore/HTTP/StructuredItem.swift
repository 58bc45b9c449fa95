// SPDX-License-Identifier: Apache-2.0
/// The value of an item of a structured field, without its parameters.
///
/// - Source: RFC 9651 §3.3.
package enum BareItem: Hashable, Sendable {
    /// A whole number of at most 15 digits.
    case integer(Int64)
    /// A number with a fraction, in thousandths.
    case decimal(thousandths: Int64)
    /// A string, without its quotes and escapes.
    case string(String)
    case token(String)
    /// A byte sequence.
    case bytes([UInt8])
    case boolean(Bool)
    /// A date in seconds since 1970.
    case date(Int64)
    /// A display string, decoded.
    case displayString(String)
}

/// An item of a structured field: a value and its parameters.
///
/// - Source: RFC 9651 §3.3, §3.1.2.
package struct StructuredItem: Hashable, Sendable {
    package var value: BareItem
    /// The parameters; of two with the same name, the last one counts.
    package var parameters: [String: BareItem] = [:]

    /// Parses the value of an item field, or returns `nil` if it is malformed.
    package init?(_ field: String) {
        guard let item = StructuredFieldParser.item(field) else { return nil }
        self = item
    }

    init(value: BareItem, parameters: [String: BareItem]) {
        self.value = value
        self.parameters = parameters
    }

    /// The Boolean of an item field, or `nil` if the field is missing, malformed or of another type.
    package static func boolean(_ field: String?) -> Bool? {
        guard case .boolean(let value)? = field.flatMap(Self.init)?.value else { return nil }
        return value
    }

    /// The integer of an item field, or `nil` if the field is missing, malformed, negative or of another type.
    package static func integer(_ field: String?) -> Int64? {
        guard case .integer(let value)? = field.flatMap(Self.init)?.value, value >= 0 else { return nil }
        return value
    }
}

/// A member of a list or a dictionary.
///
/// - Source: RFC 9651 §3.1, §3.2.
package enum StructuredMember: Hashable, Sendable {
    case item(StructuredItem)
    case innerList([StructuredItem], parameters: [String: BareItem])

    /// The value of an item, or `nil` for an inner list.
    package var value: BareItem? {
        if case .item(let item) = self { item.value } else { nil }
    }
}
