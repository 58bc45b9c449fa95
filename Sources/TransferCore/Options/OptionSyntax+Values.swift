// SPDX-License-Identifier: Apache-2.0
extension OptionSyntax<Int> {
    /// A whole number in a range.
    package static func number(_ range: ClosedRange<Int>) -> Self {
        Self("number") { text throws(SyntaxError) in
            guard let number = Int(text), range.contains(number) else {
                throw SyntaxError.option("is not a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
    }

    /// A status of a response.
    package static var status: Self { Self.number(400...599).named("status") }
}

extension OptionSyntax<Int64> {
    /// A number of bytes: digits with an optional fraction and an optional K, M, G or T for powers of 1024.
    package static var size: Self {
        Self("size") { text throws(SyntaxError) in
            let bad = SyntaxError.option("is not a size", write: "a number of bytes such as 500K, 1.5M or 2G")
            guard let first = text.utf8.first, ASCII.isDigit(first), !text.utf8.contains(0x20) else { throw bad }
            if let bytes = ByteCount.parse(text) { return bytes }
            let isNumber = text.utf8.allSatisfy {
                ASCII.isDigit($0) || $0 == 0x2E || "kmgtpibKMGTPIB".utf8.contains($0)
            }
            let points = text.utf8.count { $0 == 0x2E }
            let letters = text.utf8.drop { ASCII.isDigit($0) || $0 == 0x2E }
            guard isNumber, points < 2, letters.count < 4, letters.allSatisfy({ $0 > 0x39 }) else { throw bad }
            throw SyntaxError.option("is too large", write: "a smaller size")
        }
    }
}

extension OptionSyntax<Duration> {
    /// A number of seconds, with or without a fraction, up to a year; 0 for no limit.
    package static var seconds: Self {
        Self("seconds") { text throws(SyntaxError) in
            var digits = Substring(text)
            if digits.last == "s" { digits.removeLast() }
            guard let first = digits.utf8.first, ASCII.isDigit(first),
                digits.utf8.allSatisfy({ ASCII.isDigit($0) || $0 == 0x2E }),
                let seconds = Double(digits), seconds.isFinite, seconds <= 366 * 86_400
            else { throw SyntaxError.option("is not a time", write: "seconds, such as 30 or 0.5 (0 for no limit)") }
            return .milliseconds(Int64((seconds * 1000).rounded()))
        } write: { duration in
            let (seconds, attoseconds) = duration.components
            let milliseconds = attoseconds / 1_000_000_000_000_000
            guard milliseconds > 0 else { return "\(seconds)" }
            var fraction = "\(1000 + milliseconds)".dropFirst()
            while fraction.last == "0" { fraction.removeLast() }
            return "\(seconds).\(fraction)"
        }
    }
}

extension OptionSyntax<Bool> {
    /// No value, as the option is a flag; where it has one, `true` or `false`.
    package static var flag: Self {
        Self("") { text throws(SyntaxError) in
            switch text {
            case "true": return true
            case "false": return false
            default: throw SyntaxError.option("is unknown", write: "true or false")
            }
        }
    }
}

extension OptionSyntax<String> {
    /// Any text.
    package static func text(_ valueName: String) -> Self { Self(valueName) { text throws(SyntaxError) in text } }

    /// The path of a file.
    package static func file(_ valueName: String = "file") -> Self {
        Self(valueName, completion: .file) { text throws(SyntaxError) in text }
    }

    /// The path of a directory.
    package static var directory: Self { Self("dir", completion: .directory) { text throws(SyntaxError) in text } }
}

extension OptionSyntax {
    /// One of some named values.
    ///
    /// The name of an enumeration's case by reflection would cost a million instructions per type at each start.
    package static func choice(_ valueName: String, _ choices: [Value], name: @escaping @Sendable (Value) -> String)
        -> Self
    {
        let words = choices.map(name)
        return Self(valueName, completion: .words(words)) { text throws(SyntaxError) in
            guard let index = words.firstIndex(of: text) else {
                throw SyntaxError.option("is unknown", write: "one of \(words.joined(separator: ", "))")
            }
            return choices[index]
        } write: {
            name($0)
        }
    }
}

extension OptionSyntax where Value: RawRepresentable, Value.RawValue == String {
    /// One of some values, each written as its raw value.
    package static func choice(_ valueName: String, _ choices: [Value]) -> Self {
        Self.choice(valueName, choices) { $0.rawValue }
    }
}

extension OptionSyntax<DigestAlgorithm> {
    /// The name of an algorithm, in any spelling.
    package static var algorithm: Self {
        let names = DigestAlgorithm.allCases.map(\.rawValue)
        return Self("algorithm", completion: .words(names)) { text throws(SyntaxError) in
            guard let algorithm = DigestAlgorithm(named: text.trimmingBlanks.utf8) else {
                throw SyntaxError.option("is not a digest algorithm", write: "one of \(names.joined(separator: ", "))")
            }
            return algorithm
        } write: {
            $0.rawValue
        }
    }
}

extension OptionSyntax<ExpectedDigest> {
    /// An algorithm and a digest: `sha256:HEX`, aria2's `sha-256=HEX`, or the digest in Base64.
    package static var digest: Self {
        Self("digest") { text throws(SyntaxError) in
            try ExpectedDigest(parsing: text, source: "--checksum")
        } write: { digest in
            let name = digest.algorithm.rawValue
            let dashed = name.hasPrefix("sha") && !name.hasPrefix("sha-") ? "sha-" + name.dropFirst(3) : name
            return "\(dashed)=\(Hexadecimal.encode(digest.bytes))"
        }
    }
}
