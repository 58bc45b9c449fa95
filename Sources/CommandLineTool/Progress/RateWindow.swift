/// The mean rate over the last seconds, from samples of a counter.
struct RateWindow {
    private var samples: [(time: Duration, bytes: Int64)] = []
    private let span: Duration

    /// Creates a window.
    ///
    /// - Parameter span: How far it looks back.
    init(span: Duration = .seconds(5)) { self.span = span }

    /// Takes a sample and tells the rate in bytes a second.
    mutating func sample(_ bytes: Int64, at time: Duration) -> Double {
        self.samples.append((time, bytes))
        while self.samples.count > 2, time - self.samples[0].time > self.span { self.samples.removeFirst() }
        let seconds = Quantity.seconds(time - self.samples[0].time)
        return seconds > 0 ? Double(bytes - self.samples[0].bytes) / seconds : 0
    }
}
