// SPDX-License-Identifier: Apache-2.0
/// A JSON value (RFC 8259); it preserves 64-bit integers and the order of members.
///
/// It has a dedicated parser: input from the network must be bounded in depth and size before values are built, an `id`
/// must be returned unchanged, and a queue of a million entries is loaded with it; see Docs/Decisions/0007.
public enum JSON: Sendable, Hashable {
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without fraction and exponent that fits 64 bits.
    case integer(Int64)
    /// Any other number; always finite.
    case number(Double)
    /// A parsed number that neither of the two would write with the same characters, such as `1e2`, `1.0`, `-0` or an
    /// integer beyond 64 bits; it is written as it was read.
    case literal(String)
    case string(String)
    case array([JSON])
    /// An object; if a name occurs twice, the last member counts.
    case object([Member])

    /// One member of an object.
    public struct Member: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value.
        public var value: JSON

        /// Creates a member.
        public init(_ name: String, _ value: JSON) {
            self.name = name
            self.value = value
        }
    }

    /// The value of a member, or `nil` if this is not an object or has no such member.
    public subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    /// The element at an index, or `nil` if this is not an array or the index is out of range.
    public subscript(index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The string, or `nil` if this is not a string.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The whole number, also one that is written with a fraction or an exponent, such as `5.0`; otherwise `nil`.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number, .literal: self.double.flatMap { Int64(exactly: $0) }
        default: nil
        }
    }
    /// The truth value, or `nil` if this is not one.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The number, whole or not, or `nil` if this is not a number.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .literal(let text): Double(text)
        default: nil
        }
    }
    /// The elements, or `nil` if this is not an array.
    public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
    /// The members, or `nil` if this is not an object.
    public var object: [Member]? { if case .object(let value) = self { value } else { nil } }
    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// A string, or `null` for `nil`.
    public static func optional(_ value: String?) -> JSON { value.map { .string($0) } ?? .null }
    /// A whole number, or `null` for `nil`.
    public static func optional(_ value: Int64?) -> JSON { value.map { .integer($0) } ?? .null }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// An array.
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// An object.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}
