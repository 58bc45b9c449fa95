// SPDX-License-Identifier: Apache-2.0

/// Finds the secrets among a process's arguments, which other users see in the list of processes.
///
/// Pure value. It knows the options of curl, wget and aria2 as well: a line with one of them is an error, which is
/// reported after the secret was seen.
enum SecretArguments {
    /// Options whose values are secret.
    private static let values: Set<String> = [
        "--user", "--cookie", "--rpc-secret", "--rpc-passwd", "--proxy-user", "--oauth2-bearer", "--pass", "--password",
        "--passwd",
        "--http-password", "--http-passwd", "--ftp-password", "--ftp-passwd", "--proxy-password", "--all-proxy-passwd",
        "--http-proxy-passwd", "--https-proxy-passwd", "--tlspassword",
    ]
    /// Options whose values are URLs that may lack a scheme.
    private static let addresses: Set<String> = ["--proxy", "--all-proxy", "--http-proxy", "--https-proxy"]
    /// Letters with such values.
    private static let letters: Set<Character> = ["u", "b", "U"]
    /// Header fields without secrets.
    private static let plainFields: Set<String> = [
        "accept", "accept-encoding", "accept-language", "cache-control", "content-type", "if-modified-since",
        "if-none-match", "origin", "range", "referer", "user-agent",
    ]

    /// The secret part of each argument.
    ///
    /// - Parameter arguments: The words after the program's name.
    /// - Returns: The index of a word, and the range of bytes to hide.
    static func ranges(in arguments: [String]) -> [(index: Int, bytes: Range<Int>)] {
        var found: [(index: Int, bytes: Range<Int>)] = []
        var expected: Value?
        for (index, word) in arguments.enumerated() {
            if let value = expected {
                expected = nil
                if let range = self.secret(value, word) { found.append((index, range)) }
            } else if let (value, start) = self.option(word) {
                guard let start else {
                    expected = value
                    continue
                }
                let text = String(decoding: word.utf8.dropFirst(start), as: UTF8.self)
                guard let range = self.secret(value, text) else { continue }
                found.append((index, range.lowerBound + start..<range.upperBound + start))
            } else if !word.hasPrefix("-"), let range = self.userInformation(word) {
                found.append((index, range))
            }
        }
        return found
    }

    /// The secret part of an option's value.
    private enum Value {
        case whole
        /// The value of a header field.
        case field
        /// The user name and the password of a URL.
        case address
    }

    /// What is secret in an option's value, and the value's offset, or `nil` if it is the next word.
    private static func option(_ word: String) -> (value: Value, start: Int?)? {
        guard word.hasPrefix("-"), word.utf8.count > 1 else { return nil }
        if word.hasPrefix("--") {
            let name = String(word.prefix { $0 != "=" })
            let start = name.utf8.count < word.utf8.count ? name.utf8.count + 1 : nil
            if name == "--header" { return (.field, start) }
            if self.addresses.contains(name) || start != nil && !self.values.contains(name) { return (.address, start) }
            return self.values.contains(name) ? (.whole, start) : nil
        }
        guard let letter = word.dropFirst().first else { return nil }
        let start = word.utf8.count > 2 ? 2 : nil
        if letter == "H" { return (.field, start) }
        return self.letters.contains(letter) ? (.whole, start) : nil
    }

    private static func secret(_ value: Value, _ text: String) -> Range<Int>? {
        switch value {
        case .whole: text.isEmpty ? nil : 0..<text.utf8.count
        case .field: self.field(text)
        case .address: self.userInformation(text)
        }
    }

    /// The value of a header field that may be secret.
    private static func field(_ text: String) -> Range<Int>? {
        let name = text.utf8.prefix { $0 != 0x3A }
        let isPlain = self.plainFields.contains(String(decoding: name, as: UTF8.self).lowercased())
        guard name.count < text.utf8.count, !isPlain else { return nil }
        return name.count + 1..<text.utf8.count
    }

    /// The user name and password of a URL, which may lack its scheme.
    private static func userInformation(_ text: String) -> Range<Int>? {
        let bytes = Array(text.utf8)
        let mark = bytes.indices.first { bytes[$0...].starts(with: [0x3A, 0x2F, 0x2F]) }
        let start = mark.map { $0 + 3 } ?? 0
        let end = bytes[start...].firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? bytes.count
        guard let at = bytes[start..<end].lastIndex(of: 0x40), at > start else { return nil }
        // Without a scheme, it may be the name of a file.
        if mark == nil, !bytes[..<at].contains(0x3A) { return nil }
        return start..<at
    }
}
