import TransferCore

/// Serializes one JSON object; all strings are escaped.
///
/// - Source: RFC 8259 §7.
struct JSONObject {
    private var bytes: [UInt8] = [0x7B]

    /// Adds a string.
    mutating func add(_ key: StaticString, _ value: String) {
        self.key(key)
        self.string(value)
    }

    /// Adds a whole number.
    mutating func add(_ key: StaticString, _ value: Int64) {
        self.key(key)
        self.bytes.append(contentsOf: "\(value)".utf8)
    }

    /// Adds a number with at most three decimals; infinities, NaN and magnitudes from 1e15 become null.
    mutating func add(_ key: StaticString, _ value: Double) {
        self.key(key)
        guard value.isFinite, value.magnitude < 1e15 else { return self.bytes.append(contentsOf: "null".utf8) }
        let thousandths = Int64((value * 1000).rounded())
        var text = "\(thousandths / 1000)"
        if thousandths < 0, thousandths / 1000 == 0 { text = "-0" }
        let fraction = abs(thousandths % 1000)
        if fraction != 0 {
            text += "." + String("\(1000 + fraction)".dropFirst())
            while text.last == "0" { text.removeLast() }
        }
        self.bytes.append(contentsOf: text.utf8)
    }

    /// Adds true or false.
    mutating func add(_ key: StaticString, _ value: Bool) {
        self.key(key)
        self.bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    /// Adds null.
    mutating func addNull(_ key: StaticString) {
        self.key(key)
        self.bytes.append(contentsOf: "null".utf8)
    }

    /// Adds an object.
    mutating func add(_ key: StaticString, _ value: JSONObject) {
        self.key(key)
        self.bytes.append(contentsOf: value.bytes)
        self.bytes.append(0x7D)
    }

    /// The object on one line.
    var text: String { String(decoding: self.bytes + [0x7D], as: UTF8.self) }

    private mutating func key(_ key: StaticString) {
        if self.bytes.count > 1 { self.bytes.append(0x2C) }
        self.string(key.description)
        self.bytes.append(0x3A)
    }

    private mutating func string(_ value: String) {
        self.bytes.append(0x22)
        for byte in value.utf8 {
            switch byte {
            case 0x22: self.bytes.append(contentsOf: #"\""#.utf8)
            case 0x5C: self.bytes.append(contentsOf: #"\\"#.utf8)
            case 0x0A: self.bytes.append(contentsOf: #"\n"#.utf8)
            case 0x0D: self.bytes.append(contentsOf: #"\r"#.utf8)
            case 0x09: self.bytes.append(contentsOf: #"\t"#.utf8)
            case 0..<0x20, 0x7F:
                self.bytes.append(contentsOf: #"\u00"#.utf8)
                self.bytes.append(contentsOf: Hexadecimal.encode([byte]).utf8)
            default: self.bytes.append(byte)
            }
        }
        self.bytes.append(0x22)
    }
}
