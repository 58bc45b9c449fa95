// SPDX-License-Identifier: Apache-2.0
/// A list of the digests of files, such as `SHA256SUMS`, `MD5SUMS` or `CHECKSUMS`.
///
/// Keeps the text and 16 bytes for each of its lines, which are parsed again when a name is looked up: a list of a million
/// files needs little more memory than its text.
///
/// - Source: ``ChecksumLine`` for the forms of the lines.
package struct ChecksumList: Sendable {
    /// The maximum length of a list in bytes.
    package static let longest = 64 << 20
    /// The maximum length of a line in bytes: a path (`PATH_MAX`) with every byte escaped, and a digest.
    private static let longestLine = 16 << 10

    private struct Entry: Sendable {
        /// The hash of the last component of the name.
        var hash: UInt64
        /// The position of its line.
        var start: Int32
        var count: Int32
    }

    private let text: [UInt8]
    private let entries: [Entry]
    /// The name of the list, for messages.
    package let source: String
    /// The number of lines with a digest.
    package var count: Int { self.entries.count }

    /// Parses a list.
    ///
    /// Lines of no known form are left out: comments, and those of a signature.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - source: The name of the list, for messages.
    /// - Throws: ``SyntaxError`` if it has no digest, or is longer than ``longest``.
    package init(_ text: [UInt8], source: String) throws(SyntaxError) {
        guard text.count <= Self.longest else {
            throw SyntaxError(
                "\(source) is longer than \(Self.longest >> 20) MiB; give a list of the files that are wanted"
            )
        }
        var entries: [Entry] = []
        // UTF-8's mark of the byte order.
        var start = text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while start < text.count {
            let end = text[start...].firstIndex(of: 0x0A) ?? text.count
            if end - start <= Self.longestLine, let line = ChecksumLine(text[start..<end]) {
                let hash = NameHash.of(Self.lastComponent(line.name))
                entries.append(Entry(hash: hash, start: Int32(start), count: Int32(end - start)))
            }
            start = end + 1
        }
        guard !entries.isEmpty else {
            throw SyntaxError(
                "\(source) is not a list of digests: none of its lines is 'DIGEST  NAME' or 'SHA256 (NAME) = DIGEST'"
            )
        }
        self.text = text
        self.entries = entries.sorted { ($0.hash, $0.start) < ($1.hash, $1.start) }
        self.source = source
    }

    /// The digest of a file.
    ///
    /// A line is for the file if the last component of its name is that of a path. Of several such lines those count whose
    /// directories agree best with the path's, as in lists of a tree with files of equal names. Of several algorithms the
    /// strongest counts.
    ///
    /// - Parameters:
    ///   - paths: What the file may be called in the list: its name here, and the path of its URL, decoded.
    ///   - isOnly: Whether it is the only file, so that a digest without a name is its.
    /// - Returns: The digest.
    /// - Throws: ``SyntaxError`` if the list does not have it, or has several.
    package func digest(of paths: [String], isOnly: Bool = false) throws(SyntaxError) -> ExpectedDigest {
        var lines: [ChecksumLine] = []
        for path in paths { lines += self.best(for: path) }
        if lines.isEmpty, isOnly, self.entries.count == 1 { lines = self.lines(of: "").filter { $0.name.isEmpty } }
        let name = paths.first.map { Self.lastComponent($0) } ?? ""
        guard let strongest = lines.max(by: { $0.algorithm.byteCount < $1.algorithm.byteCount }) else {
            throw SyntaxError("\(self.source) has no digest of '\(name)'")
        }
        let others = lines.first { $0.algorithm == strongest.algorithm && $0.digest != strongest.digest }
        if let other = others {
            throw SyntaxError(
                "\(self.source) has different digests of '\(strongest.name)' and '\(other.name)', and both may be this file"
            )
        }
        return ExpectedDigest(algorithm: strongest.algorithm, bytes: strongest.digest, source: self.source)
    }

    /// The lines for a path: those that agree with most of its components.
    private func best(for path: String) -> [ChecksumLine] {
        let wanted = Self.components(path)
        guard let last = wanted.last else { return [] }
        var best: [ChecksumLine] = []
        var depth = 0
        for line in self.lines(of: last) {
            let own = Self.components(line.name)
            let common = zip(own.reversed(), wanted.reversed()).prefix { $0 == $1 }.count
            // A name that agrees completely is better than one that also has other directories.
            let agreement = 2 * common + (common == own.count ? 1 : 0)
            if agreement > depth {
                best = []
                depth = agreement
            }
            if common > 0, agreement == depth { best.append(line) }
        }
        return best
    }

    /// The lines of files with a name, whatever their directories; with others of the same hash.
    private func lines(of name: String) -> [ChecksumLine] {
        let hash = NameHash.of(name)
        var (low, high) = (0, self.entries.count)
        while low < high {
            let middle = (low + high) / 2
            if self.entries[middle].hash < hash { low = middle + 1 } else { high = middle }
        }
        return self.entries[low...].prefix { $0.hash == hash }
            .compactMap { ChecksumLine(self.text[Int($0.start)..<Int($0.start + $0.count)]) }
    }

    private static func components(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init)
    }

    private static func lastComponent(_ path: String) -> String { self.components(path).last ?? "" }
}
