// SPDX-License-Identifier: Apache-2.0
import Platform

/// The settings of aria2's output.
struct Aria2Output: Sendable, Equatable {
    /// The severity of a message.
    enum Level: Int, Sendable, Comparable {
        case debug, info, notice, warn, error

        static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

        /// The word of the option's values.
        init?(_ word: String) {
            switch word {
            case "debug": self = .debug
            case "info": self = .info
            case "notice": self = .notice
            case "warn": self = .warn
            case "error": self = .error
            default: return nil
            }
        }

        /// The word in a line.
        var word: String {
            switch self {
            case .debug: "DEBUG"
            case .info: "INFO"
            case .notice: "NOTICE"
            case .warn: "WARN"
            case .error: "ERROR"
            }
        }

        /// The colour that aria2 gives the word.
        var colour: String {
            switch self {
            case .debug: "1;37"
            case .info: "1;36"
            case .notice: "1;32"
            case .warn: "1;33"
            case .error: "1;31"
            }
        }
    }

    /// The table at the end.
    enum Results: String, Sendable {
        case `default`, full, hide
    }

    /// Whether nothing is printed.
    var isQuiet = false
    /// The lowest level that is printed.
    var level = Level.notice
    /// The lowest level in the log file.
    var logLevel = Level.debug
    /// The path of the log file; `-` is standard output; `nil` for none.
    var log: String?
    /// Whether the level's word is coloured, on a terminal or not.
    var isColoured = true
    /// Whether the line with the progress is printed each second.
    var showsReadout = true
    /// The seconds between two summaries of the progress; 0 for none.
    var summaryInterval = 60
    /// The table at the end.
    var results = Results.default
    /// Whether the output is printed to standard error.
    var usesStandardError = false
    /// Whether sizes have units.
    var isHumanReadable = true
    /// The maximum number of rows in the table at the end.
    var mostResults = 1000

    /// Creates aria2's defaults.
    init() {}

    /// Reads the settings.
    init(_ settings: Aria2Settings) {
        self.isQuiet = settings.flag("quiet") ?? false
        self.level = settings.text("console-log-level").flatMap { Level($0) } ?? .notice
        self.logLevel = settings.text("log-level").flatMap { Level($0) } ?? .debug
        self.log = settings.text("log").flatMap { $0.isEmpty ? nil : $0 }
        self.isColoured = (settings.flag("enable-color") ?? true) && Terminal.allowsColour
        self.showsReadout = settings.flag("show-console-readout") ?? true
        self.summaryInterval = settings.number("summary-interval") ?? 60
        self.results = settings.text("download-result").flatMap { Results(rawValue: $0) } ?? .default
        self.usesStandardError = settings.flag("stderr") ?? false
        self.isHumanReadable = settings.flag("human-readable") ?? true
        self.mostResults = min(1000, settings.number("max-download-result") ?? 1000)
    }

    var descriptor: Int32 { self.usesStandardError ? STDERR_FILENO : STDOUT_FILENO }
}
