/// Finds a transfer too slow once it has been so for ten seconds.
///
/// No clock: seconds come in as an argument.
struct SpeedWatch: Sendable {
    /// Bytes a second.
    let lowest: Int64
    private var slowSince: Double?

    static let patience = 10.0

    init(lowest: Int64) { self.lowest = lowest }

    /// Takes a sample.
    ///
    /// - Returns: Whether it is too slow.
    mutating func sample(rate: Int64, at now: Double) -> Bool {
        guard rate < self.lowest else {
            self.slowSince = nil
            return false
        }
        guard let since = self.slowSince else {
            self.slowSince = now
            return false
        }
        return now - since >= Self.patience
    }
}
