internal import Control
internal import HTTPTransport
internal import Martlet
internal import TransferEngine

/// How one lane's transfers are made.
struct LaneSettings: Sendable {
    var engine: TransferEngine.Configuration
    var transport: HTTPTransport.Configuration
    var downloads: DownloadOptions
    var fields: [(String, String)]
    /// For the policies of its transfers: cookies and credentials.
    var session: SessionConfiguration
    /// Lets its transfers run while the conditions hold; `nil` is always.
    var gate: ConditionGate?
    /// Options that hold where a transfer has none of its own.
    var defaults: TransferOptions

    /// The time for which outages are waited out.
    static let outageTimeout = Duration.seconds(86_400)

    /// A background session's.
    init(session: SessionConfiguration) {
        self.engine = session.forEngine
        self.transport = session.forTransport
        self.downloads = session.forDownloads
        self.downloads.outageTimeout = Self.outageTimeout
        self.fields = session.baseFields
        self.session = session
        self.gate = ConditionGate(session)
        self.defaults = TransferOptions()
    }

    /// The shared queue's.
    init(shared session: SessionConfiguration, options: TransferOptions) throws(ControlError) {
        self.init(session: session)
        let reader = OptionReader(options: options)
        self.engine.concurrentTransfers = try reader.count(.maxConcurrentDownloads, 1...100_000) ?? 5
        self.engine.rateLimit = try reader.limit(.maxOverallDownloadLimit)
        self.downloads.retries = 4
        self.defaults = options
        for name in [
            OptionName.dir, .out, .gid, .pause, .position, .maxConcurrentDownloads, .maxOverallDownloadLimit,
            .maxDownloadResult,
        ] {
            self.defaults[name] = nil
        }
    }
}
