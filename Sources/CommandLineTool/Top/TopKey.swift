// SPDX-License-Identifier: Apache-2.0
/// A key that was pressed, or a text that was pasted.
enum TopKey: Hashable, Sendable {
    case character(Character)
    /// Ctrl and a lower-case letter.
    case control(Character)
    /// A text pasted between the marks of bracketed paste; it is never taken for commands.
    case paste(String)
    case enter, escape, backspace, delete, tab, backTab
    case up, down, left, right, home, end, pageUp, pageDown
    case shiftUp, shiftDown
}
