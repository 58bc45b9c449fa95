// SPDX-License-Identifier: Apache-2.0
/// How the rows of a terminal are used; a small one has only the most important parts.
struct TopLayout: Equatable {
    /// The number of rows of each part.
    var title = 0
    var plot = 0
    var tabs = 0
    var heading = 0
    var body = 0
    var status = 0
    var footer = 0

    /// Divides a number of rows.
    init(rows: Int) {
        let rows = max(0, rows)
        self.title = rows >= 3 ? 1 : 0
        self.status = rows >= 20 ? 2 : rows >= 2 ? 1 : 0
        self.footer = rows >= 5 ? 1 : 0
        self.tabs = rows >= 6 ? 1 : 0
        self.heading = rows >= 7 ? 1 : 0
        self.plot = rows >= 40 ? 4 : rows >= 20 ? 2 : rows >= 12 ? 1 : 0
        self.body = rows - self.title - self.status - self.footer - self.tabs - self.heading - self.plot
    }
}
