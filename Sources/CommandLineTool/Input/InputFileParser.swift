// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

/// Parses aria2's input file format, line by line.
///
/// A line without leading white space has a file's URLs, separated by TABs; the following lines with leading white
/// space have options of that file. Lines that start with `#` and empty lines are ignored.
///
/// Pure value: it consumes lines and returns entries and faults. A bad line affects only its own entry.
///
/// - Source: aria2's manual, "Input File".
struct InputFileParser {
    /// The result of parsing a line.
    enum Event: Equatable {
        /// A file to download.
        case entry(InputEntry)
        /// An invalid entry.
        case fault(InputFault)
        /// A warning, reported once per option name.
        case warning(line: Int, String)
    }

    /// The maximum size of one entry's options, in bytes.
    static let optionLimit = 256 << 10

    private var line = 0
    private var entry: InputEntry?
    private var fault: InputFault?
    private var optionBytes = 0
    private var warned: Set<String> = []

    /// Parses the next line.
    mutating func take(_ line: LineReader.Line) -> [Event] {
        self.line += 1
        guard case .text(var bytes) = line else {
            let ended = self.finish()
            self.fault = InputFault(
                line: self.line,
                message: "the line is longer than \(LineReader.limit >> 10) KiB; put fewer mirrors on it"
            )
            return ended
        }
        if self.line == 1, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        guard let first = bytes.first, first != 0x23 else { return [] }
        let isOption = first == 0x20 || first == 0x09
        guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { return [] }
        // Nearly every line is ASCII, and the standard library validates by unspecialized code.
        let isPlain = bytes.allSatisfy { ($0 >= 0x20 && $0 < 0x7F) || $0 == 0x09 }
        let decoded = isPlain ? String(decoding: bytes, as: UTF8.self) : String(validating: bytes, as: UTF8.self)
        guard let text = decoded else {
            let reason = "the line is not UTF-8 text; write it as UTF-8"
            return isOption ? self.spoil(reason) : self.begin(spoilt: reason)
        }
        guard isPlain || bytes.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
            let reason = "the line contains a control character; remove it"
            return isOption ? self.spoil(reason) : self.begin(spoilt: reason)
        }
        return isOption ? self.option(text) : self.urls(text)
    }

    /// Completes the current entry, at the end of the file.
    mutating func finish() -> [Event] {
        defer {
            self.entry = nil
            self.fault = nil
            self.optionBytes = 0
        }
        if let fault = self.fault { return [.fault(fault)] }
        return self.entry.map { [.entry($0)] } ?? []
    }

    private mutating func begin(spoilt reason: String) -> [Event] {
        let ended = self.finish()
        self.fault = InputFault(line: self.line, message: reason)
        return ended
    }

    private mutating func spoil(_ reason: String) -> [Event] {
        if self.fault == nil {
            self.fault = InputFault(line: self.line, message: reason, url: self.entry?.urls.first?.redacted ?? "")
        }
        return []
    }

    private mutating func urls(_ text: String) -> [Event] {
        let ended = self.finish()
        var entry = InputEntry(line: self.line)
        do throws(HTTPURLError) {
            // Most lines have a single URL; `HTTPURL` removes the blanks around it.
            if !(text.utf8.withContiguousStorageIfAvailable { $0.contains(0x09) } ?? text.utf8.contains(0x09)) {
                entry.urls.append(try HTTPURL(text))
            } else {
                for part in text.utf8.split(separator: 0x09) where !part.allSatisfy({ $0 == 0x20 }) {
                    entry.urls.append(try HTTPURL(String(Substring(part))))
                }
            }
        } catch {
            self.fault = InputFault(line: self.line, message: error.message)
            return ended
        }
        self.entry = entry
        return ended
    }

    private mutating func option(_ text: String) -> [Event] {
        if self.fault != nil { return [] }
        guard self.entry != nil else {
            self.fault = InputFault(
                line: self.line,
                message: "an option precedes the first URL; write the URL's line without leading white space"
            )
            return []
        }
        self.optionBytes += text.utf8.count
        guard self.optionBytes <= Self.optionLimit else {
            return self.spoil("the entry's options are longer than \(Self.optionLimit >> 10) KiB; remove some")
        }
        guard let equals = text.firstIndex(of: "=") else {
            return self.spoil("\"\(DisplayText.clean(text.trimmingBlanks))\" is not an option; write name=value")
        }
        let name = text[..<equals].trimmingBlanks
        let value = text[text.index(after: equals)...].trimmingBlanks
        do {
            guard try self.set(name, value) else {
                guard self.warned.count < 64, self.warned.insert(name).inserted else { return [] }
                return [
                    .warning(
                        line: self.line,
                        "the option \"\(DisplayText.clean(name))\" is unknown and is ignored"
                    )
                ]
            }
            return []
        } catch {
            return self.spoil("\(name): \(error.description)")
        }
    }

    /// Sets an option of the entry.
    ///
    /// - Returns: Whether the option is known.
    private mutating func set(_ name: String, _ value: String) throws(BadValue) -> Bool {
        switch name {
        case "out": self.entry?.name = try FilePath.inside(value)
        case "dir":
            guard !value.isEmpty else { throw BadValue("dir= is empty; write dir=PATH") }
            self.entry?.directory = value
        case "checksum": self.entry?.expected.append(try OptionSpec.checksum.syntax.parsed(value))
        case "header": self.entry?.fields.append(try OptionSpec.header.syntax.parsed(value))
        case "referer":
            let referer = try OptionSpec.referer.syntax.parsed(value)
            self.entry?.fields.append(HeaderLine(name: "Referer", value: referer))
        case "user-agent":
            let agent = try OptionSpec.userAgent.syntax.parsed(value)
            self.entry?.fields.append(HeaderLine(name: "User-Agent", value: agent))
        default: return false
        }
        return true
    }
}
