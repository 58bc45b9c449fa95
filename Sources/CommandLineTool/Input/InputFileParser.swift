// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
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

    private let reader: InputReader
    private var line = 0
    private var entry: InputEntry?
    private var fault: InputFault?
    private var optionBytes = 0
    private var warned: Set<String> = []
    /// A reason why an option of the current line is ignored.
    private var remark: String?

    /// Creates a parser.
    ///
    /// - Parameter reader: The command that reads the file.
    init(for reader: InputReader = .get) { self.reader = reader }

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
        if self.reader.skipsMirrors { return self.mirrors(text, entry, ended) }
        do throws(SyntaxError) {
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
            if try self.set(name, value) { return [] }
            defer { self.remark = nil }
            guard self.warned.count < 64, self.warned.insert(name).inserted else { return [] }
            let shown = "the option \"\(DisplayText.clean(name))\""
            let reason = self.remark.map { "\(shown) is ignored: \($0)" } ?? "\(shown) is unknown and is ignored"
            return [.warning(line: self.line, reason)]
        } catch {
            return self.spoil("\(name): \(error.description)")
        }
    }

    /// Sets an option of the entry.
    ///
    /// - Returns: Whether it has been set, or changes nothing; false if it is ignored.
    private mutating func set(_ name: String, _ value: String) throws(SyntaxError) -> Bool {
        switch name {
        case "out": self.entry?.name = try FilePath.inside(value)
        case "dir":
            guard !value.isEmpty else { throw SyntaxError("dir= is empty; write dir=PATH") }
            self.entry?.directory = value
        case "checksum": self.entry?.expected.append(try OptionSpec.checksum.syntax.parsed(value))
        case "header": self.entry?.fields.append(try OptionSpec.header.syntax.parsed(value))
        case "referer":
            let referer = try OptionSpec.referer.syntax.parsed(value)
            self.entry?.fields.append(HeaderLine(name: "Referer", value: referer))
        case "user-agent":
            let agent = try OptionSpec.userAgent.syntax.parsed(value)
            self.entry?.fields.append(HeaderLine(name: "User-Agent", value: agent))
        default: return try self.keep(name, value)
        }
        return true
    }

    /// Keeps one of the other options that the daemon has, if the reader has a use for it.
    private mutating func keep(_ name: String, _ value: String) throws(SyntaxError) -> Bool {
        guard let option = OptionName(rawValue: name) else {
            if let remedy = Aria2OptionTable.remedy(for: name) {
                guard value == "false" || value.isEmpty else { throw SyntaxError("it is not supported; \(remedy)") }
                return true
            }
            return Aria2OptionTable.isWithoutEffect(name)
        }
        switch option.use(by: self.reader) {
        case .silent: return true
        case .ignored(let reason):
            self.remark = reason
            return false
        case .refused(let remedy): throw SyntaxError("it is not supported for one file; \(remedy)")
        case .honoured: break
        }
        guard !value.isEmpty else { return true }
        do throws(SyntaxError) {
            self.entry?.options[option] = try QueueOption(option).rule.value(value)
        } catch {
            guard option.isSecret else { throw SyntaxError(error, of: String(value.prefix(64))) }
            throw SyntaxError("the value \(error.message)" + (error.remedy.map { "; write \($0)" } ?? ""))
        }
        return true
    }

    /// The URLs of a line as aria2 reads them: those that cannot be fetched are left out if another one can.
    private mutating func mirrors(_ text: String, _ entry: InputEntry, _ ended: [Event]) -> [Event] {
        let mirrors = MirrorURLs(text.utf8.split(separator: 0x09).map { String(Substring($0)).trimmingBlanks })
        guard !mirrors.urls.isEmpty else {
            self.fault = InputFault(line: self.line, message: mirrors.problems.first ?? "no URL")
            return ended
        }
        var entry = entry
        entry.urls = mirrors.urls
        self.entry = entry
        return ended + mirrors.problems.map { .warning(line: self.line, $0) }
    }
}
