// SPDX-License-Identifier: Apache-2.0
/// The content of the screen: every line has the screen's width.
struct TopFrame: Equatable {
    /// The lines, from the top.
    var lines: [TopLine] = []
    /// Where text is entered, if it is: row and column, from 0.
    var cursor: Cursor?

    /// A place on the screen.
    struct Cursor: Equatable {
        var row: Int
        var column: Int
    }
}
