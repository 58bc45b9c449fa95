/// A JSON value (RFC 8259), with its numbers as JSON-RPC needs them and its members in their order.
///
/// It has a parser of its own because what strangers send must be bounded in depth and size before it is built, an `id`
/// must come back as it came, and a queue of a million entries comes in through it; see Docs/Decisions/0007.
public enum JSON: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number written without fraction and exponent that fits 64 bits.
    case integer(Int64)
    /// Any other number; always finite.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSON])
    /// An object; of a name that comes twice the last one counts.
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

    /// The value of a member, or `nil` where this is no object or has none of that name.
    public subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    /// The element at a place, or `nil` where this is no array or has none there.
    public subscript(index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The string, or `nil` where this is none.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The whole number, or `nil` where this is none.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The truth value, or `nil` where this is none.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The number, whole or not, or `nil` where this is none.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
    /// The elements, or `nil` where this is no array.
    public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
    /// The members, or `nil` where this is no object.
    public var object: [Member]? { if case .object(let value) = self { value } else { nil } }
    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// A string, or `null` for none.
    public static func optional(_ value: String?) -> JSON { value.map { .string($0) } ?? .null }
    /// A whole number, or `null` for none.
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
