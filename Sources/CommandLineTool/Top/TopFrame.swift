// SPDX-License-Identifier: Apache-2.0
/// The content of the screen: every line has the screen's width.
struct TopFrame: Equatable {
    var lines: [TopLine] = []
    /// The place where text is entered; `nil` without a text field.
    var cursor: Cursor?

    /// A place on the screen.
    struct Cursor: Equatable {
        var row: Int
        var column: Int
    }
}
