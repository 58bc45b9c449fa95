// SPDX-License-Identifier: Apache-2.0
/// The widths of the table's columns, in columns of the terminal.
///
/// A row is the cursor and the mark, the name, the host, and the standing: the progress of a running transfer, or why a
/// transfer does not run. A narrow terminal has only the most important ones.
struct TopColumns: Equatable {
    /// The cursor, the mark and a space.
    static let marks = 3
    /// The width of each field of a running transfer's standing.
    static let (percent, size, rate, left) = (4, 8, 10, 7)

    private(set) var name: Int
    /// The host; 0 for none.
    private(set) var host = 0
    /// The progress bar; 0 for none.
    private(set) var bar = 0
    /// Whether the size, the rate and the time left are shown.
    private(set) var (showsSize, showsRate, showsLeft) = (false, false, false)
    /// The whole standing.
    private(set) var standing = 0

    /// Divides a width.
    init(width: Int) {
        let room = max(0, width - Self.marks)
        self.name = room
        guard width >= 20 else { return }
        self.showsRate = width >= 36
        self.showsLeft = width >= 46
        self.bar = width >= 56 ? 8 : 0
        self.showsSize = width >= 66
        self.standing = self.fields
        if width >= 80 {
            // Of what 80 columns do not need, the standing gets half: it has the reasons.
            let extra = width - 80
            self.host = 12 + min(18, extra / 5)
            self.bar = 8 + min(16, extra / 4)
            self.standing = max(self.fields, Self.standingAt80 + extra / 2)
        }
        self.name = room - self.standing - 1 - (self.host > 0 ? self.host + 1 : 0)
    }

    private static let standingAt80 = 41

    private var fields: Int {
        Self.percent + (self.bar > 0 ? self.bar + 1 : 0) + (self.showsSize ? Self.size + 1 : 0)
            + (self.showsRate ? Self.rate + 1 : 0) + (self.showsLeft ? Self.left + 1 : 0)
    }
}
