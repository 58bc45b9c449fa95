// SPDX-License-Identifier: Apache-2.0
/// The total rate of the last minutes.
struct TopRateHistory: Equatable {
    private struct Sample: Equatable {
        var time: Double
        var rate: Double
    }

    /// The time that is kept, in seconds.
    static let span = 300.0
    private static let mostSamples = 4096

    private var samples: [Sample] = []

    /// Adds the rate at a time, in seconds of a steady clock.
    mutating func add(_ rate: Int64, at time: Double) {
        if let last = self.samples.last, time < last.time { self.samples = [] }
        self.samples.append(Sample(time: time, rate: Double(max(0, rate))))
        let first = self.samples.firstIndex { $0.time >= time - Self.span } ?? 0
        let surplus = max(first, self.samples.count - Self.mostSamples)
        // Removed in blocks, so that an addition does not move all samples.
        if surplus > 64 || self.samples.count > Self.mostSamples { self.samples.removeFirst(surplus) }
    }

    /// The highest rate that ``columns(_:until:)`` can return.
    func peak(until now: Double) -> Double {
        self.samples.reduce(0) { $1.time >= now - Self.span ? max($0, $1.rate) : $0 }
    }

    /// The mean rates of equal parts of the last minutes, the oldest first; `nil` for parts without a sample.
    ///
    /// A part between two samples has the rate of the later one, if they are close: the interval may be longer than a
    /// part.
    func columns(_ count: Int, until now: Double, interval: Double) -> [Double?] {
        guard count > 0 else { return [] }
        var sums = [Double](repeating: 0, count: count)
        var numbers = [Int](repeating: 0, count: count)
        let width = Self.span / Double(count)
        for sample in self.samples {
            let age = now - sample.time
            guard age >= 0, age < Self.span else { continue }
            let index = (count - 1 - Int(age / width)).clamped(to: 0...(count - 1))
            sums[index] += sample.rate
            numbers[index] += 1
        }
        var columns: [Double?] = zip(sums, numbers).map { $1 > 0 ? $0 / Double($1) : nil }
        let reach = max(1, Int(min(interval * 2 / width, Double(count)).rounded(.up)))
        let first = columns.firstIndex { $0 != nil } ?? count
        var next: (index: Int, rate: Double)?
        for index in columns.indices.reversed() {
            if let rate = columns[index] {
                next = (index, rate)
            } else if let later = next, later.index - index < reach, index > first {
                columns[index] = later.rate
            }
        }
        return columns
    }
}
