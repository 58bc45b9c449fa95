/// Limits how often, and until when, a file may be downloaded by its link.
///
/// Pure value. A response counts as a download if it includes the file's last byte and arrives completely: a download
/// in many ranges, or one that was interrupted and resumed, counts once. Such a response takes a slot when it starts,
/// and releases it if it is interrupted. A client that took a slot may request other parts at the same time, as a
/// download over several connections does.
struct Share: Sendable {
    /// The decision about a request.
    enum Verdict: Hashable, Sendable {
        /// Serve it; if `counts`, the end of the response must be reported.
        case serve(counts: Bool)
        /// The link is exhausted or has expired.
        case gone
        /// The last download is running; it may still be interrupted.
        case busy
    }

    private let expires: Int64?
    private var left: Int?
    private var running = 0
    /// The addresses of clients that took a slot, with the times of their last requests.
    private var places: [String: Int64] = [:]

    /// The maximum time between two requests of one download, in seconds.
    private static let patience: Int64 = 3600

    /// - Parameters:
    ///   - expires: The time of expiry in seconds since 1970, or `nil`.
    ///   - downloads: The maximum number of downloads, or `nil`.
    init(expires: Int64?, downloads: Int?) {
        self.expires = expires
        self.left = downloads
    }

    /// Decides about a request for the file or a part of it.
    ///
    /// - Parameters:
    ///   - reachesEnd: Whether its response includes the file's last byte.
    ///   - client: The client's address.
    ///   - now: The current time, in seconds since 1970.
    /// - Returns: The decision.
    mutating func requested(reachesEnd: Bool, by client: String, now: Int64) -> Verdict {
        if let expires, now >= expires { return .gone }
        guard let left else { return .serve(counts: false) }
        if !reachesEnd, let since = self.places[client], now - since < Self.patience {
            self.places[client] = now
            return .serve(counts: false)
        }
        guard left > 0 else { return .gone }
        guard left > self.running else { return .busy }
        guard reachesEnd else { return .serve(counts: false) }
        self.running += 1
        self.places = self.places.filter { now - $0.value < Self.patience }
        self.places[client] = now
        return .serve(counts: true)
    }

    /// A response that counts has ended.
    mutating func ended(arrived: Bool) {
        self.running -= 1
        if arrived, let left { self.left = left - 1 }
    }
}
