// SPDX-License-Identifier: Apache-2.0
import Control

/// An input of ``TopModel``.
enum TopEvent: Sendable {
    case key(TopKey)
    /// The terminal has this size.
    case resized(columns: Int, rows: Int)
    /// Another program may have written to the terminal.
    case disturbed
    /// The daemon's answer to the last ``TopAction/load(_:)``.
    case loaded(TopSnapshot)
    /// The last ``TopAction/load(_:)`` got no response.
    case loadFailed(ControlError)
    /// The result of the last ``TopAction/call(_:)``: a text for the user.
    case called(Result<String, ControlError>)
    /// The interval has passed.
    case tick(TopTime)
}

/// A request of ``TopModel`` to its driver.
enum TopAction: Equatable, Sendable {
    /// Ask the daemon, and report ``TopEvent/loaded(_:)`` or ``TopEvent/loadFailed(_:)``; one at a time.
    case load(TopRequest)
    /// Change something, and report ``TopEvent/called(_:)``; one at a time.
    case call(TopCall)
    /// Draw every line again.
    case repaint
    /// Restore the terminal and exit.
    case quit
}

/// The time, from two clocks.
struct TopTime: Equatable, Sendable {
    /// Seconds since 1970.
    var wall: Double
    /// Seconds of a clock that is never set.
    var steady: Double
}
