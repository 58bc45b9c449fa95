// SPDX-License-Identifier: Apache-2.0
import Daemon

/// The schedules that the queue had, and what they allow by the clock of the machine.
///
/// This rule is independent of the daemon's.
struct DaemonSchedules {
    var clock: [MachineClock.Step] = []
    private var changes: [(time: Int64, schedules: Set<Schedule?>)] = [(.min, [nil])]

    /// Whether there was a schedule.
    var isUsed: Bool { self.changes.count > 1 }

    /// From a moment on the queue has one of these schedules.
    mutating func set(_ schedules: Set<Schedule?>, at time: Int64) {
        guard self.changes.last?.schedules != schedules else { return }
        self.changes.append((time, schedules))
    }

    /// Whether transfers may run at some moment of a span of less than a minute.
    func mayAllow(_ span: ClosedRange<Int64>) -> Bool {
        self.moments(in: span).contains { time in self.schedules(at: time).contains { self.allows($0, at: time) } }
    }

    /// Whether transfers may be held at some moment of a span of less than a minute.
    func mayForbid(_ span: ClosedRange<Int64>) -> Bool {
        self.moments(in: span).contains { time in self.schedules(at: time).contains { !self.allows($0, at: time) } }
    }

    /// Whether a schedule allows transfers at some time within minutes, if the clock is not set until then.
    func opens(_ schedule: Schedule?, within minutes: Int64, after time: Int64) -> Bool {
        (0...minutes).contains { self.allows(schedule, at: time + $0 * 60_000_000_000) }
    }

    /// The ends of a span, and both sides of the changes in it: between two of them, no more than one minute ends.
    private func moments(in span: ClosedRange<Int64>) -> [Int64] {
        let times = self.clock.map(\.time) + self.changes.map(\.time)
        return [span.lowerBound, span.upperBound]
            + times.filter { $0 > span.lowerBound && $0 <= span.upperBound }.flatMap { [$0 - 1, $0] }
    }

    private func schedules(at time: Int64) -> Set<Schedule?> {
        self.changes.last { $0.time <= time }?.schedules ?? [nil]
    }

    private func allows(_ schedule: Schedule?, at time: Int64) -> Bool {
        guard let schedule else { return true }
        let error = self.clock.reduce(0) { $1.time <= time ? $0 + $1.change : $0 }
        let minute = Self.minute(ofSeconds: (Scheduler.epoch * 1_000_000_000 + time + error) / 1_000_000_000)
        let today = minute - Self.minuteOfDay(minute)
        // A period begins today or began yesterday, and ends within a day.
        return [today, today - 1440]
            .contains { day in
                let length = (schedule.end - schedule.start + 1440 - 1) % 1440 + 1
                let begin = day + schedule.start
                return (begin..<begin + length).contains(minute)
                    && (schedule.days.isEmpty || schedule.days.contains(Self.weekday(day)))
            }
    }

    // MARK: The local time of the world

    static func minute(ofSeconds seconds: Int64) -> Int {
        Int(seconds >= 0 ? seconds / 60 : (seconds - 59) / 60)
    }

    static func minuteOfDay(_ minute: Int) -> Int { (minute % 1440 + 1440) % 1440 }

    /// The day of the week of a minute since 1970.
    static func weekday(_ minute: Int) -> Int { ((minute - self.minuteOfDay(minute)) / 1440 % 7 + 7) % 7 }
}
