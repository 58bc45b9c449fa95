/// How often a file may still be fetched by its link, and until when.
///
/// Pure value. What counts is an answer that brings the file's last byte and arrives: a download in many ranges, or one that
/// was broken off and gone on with, is one download. An answer that does so takes its place when it begins, and gives it
/// back where it is broken off. Who has taken a place may fetch other parts beside, for those who download over several
/// connections need them.
struct Share: Sendable {
    /// What becomes of a request.
    enum Verdict: Hashable, Sendable {
        /// It is answered; `counts` tells whether the end of the answer must be told.
        case serve(counts: Bool)
        /// The link is used up or has expired.
        case gone
        /// The last download is on its way: it may still break off.
        case busy
    }

    private let expires: Int64?
    private var left: Int?
    private var running = 0
    /// Who took a place, and when they asked last.
    private var places: [String: Int64] = [:]

    /// How many seconds a download may let pass between its requests.
    private static let patience: Int64 = 3600

    /// - Parameters:
    ///   - expires: When it ends, seconds since 1970, or `nil`.
    ///   - downloads: How many downloads there may be, or `nil`.
    init(expires: Int64?, downloads: Int?) {
        self.expires = expires
        self.left = downloads
    }

    /// A request for the file, or a part of it.
    ///
    /// - Parameters:
    ///   - reachesEnd: Whether its answer brings the file's last byte.
    ///   - client: The client's address.
    ///   - now: Seconds since 1970.
    /// - Returns: What becomes of it.
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

    /// An answer that counts is over.
    mutating func ended(arrived: Bool) {
        self.running -= 1
        if arrived, let left { self.left = left - 1 }
    }
}
