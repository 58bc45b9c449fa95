// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The percent-decoded items of a URL's query, in order.
struct QueryItems: Sendable, Hashable {
    /// The names and values.
    private(set) var items: [(name: String, value: String)] = []

    /// Parses a query, which is split at `&` and `=`.
    init(_ query: some StringProtocol) {
        for part in query.split(separator: "&") {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            self.items.append((Self.decode(halves[0]), halves.count > 1 ? Self.decode(halves[1]) : ""))
        }
    }

    /// Parses the query of a request's target.
    init(target: String) {
        guard let mark = target.firstIndex(of: "?") else {
            self.init("")
            return
        }
        self.init(target[target.index(after: mark)...].prefix { $0 != "#" })
    }

    /// The first value with a name.
    subscript(name: String) -> String? { self.items.first { $0.name == name }?.value }

    static func == (left: QueryItems, right: QueryItems) -> Bool {
        left.items.elementsEqual(right.items) { $0 == $1 }
    }

    func hash(into hasher: inout Hasher) {
        for item in self.items {
            hasher.combine(item.name)
            hasher.combine(item.value)
        }
    }

    /// Decodes every `%XX`; a `%` without two hexadecimal digits is kept.
    static func decode(_ text: some StringProtocol) -> String {
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
