// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// The percent-decoded items of a URL's query or of a form, in order.
package struct QueryItems: Sendable, Hashable {
    package private(set) var items: [(name: String, value: String)] = []

    /// Parses a query, which is split at `&` and `=`.
    package init(_ query: some StringProtocol) {
        for part in query.split(separator: "&") {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            self.items.append((Self.decode(halves[0]), halves.count > 1 ? Self.decode(halves[1]) : ""))
        }
    }

    /// Parses the query of a request's target.
    package init(target: String) {
        guard let mark = target.firstIndex(of: "?") else {
            self.init("")
            return
        }
        self.init(target[target.index(after: mark)...].prefix { $0 != "#" })
    }

    /// Parses `application/x-www-form-urlencoded`, in which `+` is a blank.
    ///
    /// - Source: the URL standard, §5.1.
    package init(form: some Sequence<UInt8>) {
        self.init(String(decoding: form.map { $0 == 0x2B ? 0x20 : $0 }, as: UTF8.self))
    }

    /// The media type of a form that ``init(form:)`` parses.
    package static let formType = "application/x-www-form-urlencoded"

    /// Whether the content of a request is such a form.
    package static func isForm(_ fields: HeaderFields) -> Bool {
        fields["Content-Type"]?.prefix { $0 != ";" && $0 != " " }.lowercased() == self.formType
    }

    /// The first value with a name.
    package subscript(name: String) -> String? { self.items.first { $0.name == name }?.value }

    /// All values with a name.
    package func values(_ name: String) -> [String] { self.items.filter { $0.name == name }.map(\.value) }

    package static func == (left: QueryItems, right: QueryItems) -> Bool {
        left.items.elementsEqual(right.items) { $0 == $1 }
    }

    package func hash(into hasher: inout Hasher) {
        for item in self.items {
            hasher.combine(item.name)
            hasher.combine(item.value)
        }
    }

    /// Decodes every `%XX`; a `%` without two hexadecimal digits is kept.
    package static func decode(_ text: some StringProtocol) -> String {
        guard text.utf8.contains(0x25) else { return String(text) }
        var output: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == 0x25, let value = Hexadecimal.decode(rest.prefix(2)), value.count == 1 {
                output.append(value[0])
                rest = rest.dropFirst(2)
            } else {
                output.append(byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
