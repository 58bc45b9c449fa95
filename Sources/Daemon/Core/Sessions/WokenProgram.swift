// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore

/// A program that a session's wake command started.
struct WokenProgram: Sendable {
    /// The process of an earlier daemon's wake command, or of this one's.
    private enum Origin: Sendable {
        case child(ChildProcess)
        case adopted(ProgramProcess)
    }

    /// How a program ended.
    enum End: Sendable, Hashable {
        /// A child of this daemon.
        case child(ChildProcess.End)
        /// A child of an earlier daemon, whose exit status is unknown.
        case adopted
    }

    private let origin: Origin
    /// The process and its start time, by which a later daemon recognizes it.
    let stored: JSON
    /// When it was started or adopted, in seconds of the core's clock.
    let began: Double
    /// Whether it, or another program, has opened the session since.
    var hasOpened = false
    /// Whether it was logged that the session was not opened.
    var isReported = false
    /// Whether its end was observed; the commands that it left are being imported.
    var isEnding = false

    init(_ child: ChildProcess, at now: Double) {
        self.origin = .child(child)
        self.began = now
        let start = ProgramProcess(id: child.id).startTime
        self.stored = ["pid": .integer(Int64(child.id)), "start": .optional(start.map { "\($0)" })]
    }

    /// A program that an earlier daemon started, if it still runs.
    init?(stored: JSON, at now: Double) {
        guard let id = stored["pid"]?.integer.flatMap({ Int32(exactly: $0) }), id > 0 else { return nil }
        let process = ProgramProcess(id: id)
        guard let start = stored["start"]?.string.flatMap({ UInt64($0) }), process.startTime == start, !process.isGone
        else { return nil }
        self.origin = .adopted(process)
        self.began = now
        self.stored = stored
    }

    private var startTime: UInt64? { self.stored["start"]?.string.flatMap { UInt64($0) } }

    /// How the program ended, or `nil` if it runs; must not be called again after an end was returned.
    func end() -> End? {
        switch self.origin {
        case .child(let child): child.endIfAny().map(End.child)
        // Another process may have got its number.
        case .adopted(let process): process.isGone || process.startTime != self.startTime ? .adopted : nil
        }
    }
}

extension WokenProgram.End: CustomStringConvertible {
    var description: String {
        switch self {
        case .child(.exited(let status)): "exit status \(status)"
        case .child(.signalled(let number)): "signal \(number)"
        case .adopted: "unknown: an earlier daemon started it"
        }
    }
}
