// SPDX-License-Identifier: Apache-2.0
package import TransferCore
internal import Control

extension Schedule {
    /// Returns whether transfers may run at a minute of the day on a day of the week (0 for Sunday).
    package func allows(minute: Int, weekday: Int) -> Bool {
        if self.start == self.end { return self.isDay(weekday) }
        if self.start < self.end { return minute >= self.start && minute < self.end && self.isDay(weekday) }
        // Across midnight: the early hours belong to the period that started on the previous day.
        if minute >= self.start { return self.isDay(weekday) }
        return minute < self.end && self.isDay((weekday + 6) % 7)
    }

    private func isDay(_ weekday: Int) -> Bool { self.days.isEmpty || self.days.contains(weekday) }

    /// The JSON in which the schedule is stored.
    package var stored: JSON {
        [
            "start": .integer(Int64(self.start)), "end": .integer(Int64(self.end)),
            "days": .array(self.days.sorted().map { .integer(Int64($0)) }),
        ]
    }

    /// Parses the JSON that ``stored`` returns.
    package init?(stored: JSON) {
        guard let start = stored["start"]?.integer, let end = stored["end"]?.integer else { return nil }
        let days = (stored["days"]?.array ?? []).compactMap(\.integer).map { Int(clamping: $0) }
        self.init(start: Int(clamping: start), end: Int(clamping: end), days: Set(days))
    }
}
