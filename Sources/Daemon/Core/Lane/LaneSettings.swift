// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPTransport
internal import Martlet
internal import TransferEngine

/// The engine settings and request defaults of one lane.
struct LaneSettings: Sendable {
    var engine: TransferEngine.Configuration
    var transport: HTTPTransport.Configuration
    var downloads: DownloadOptions
    var fields: [(String, String)]
    /// The source of its transfers' policies: cookies and credentials.
    var session: SessionConfiguration
    /// Allows transfers to run while the conditions are met; `nil` means always.
    var gate: ConditionGate?
    /// The options that apply unless a transfer sets them.
    var defaults: TransferOptions

    /// The default time after which an outage fails a transfer.
    static let outageTimeout = Duration.seconds(86_400)

    /// Creates the settings of a background session.
    init(session: SessionConfiguration) {
        self.engine = session.forEngine
        // No user waits for this queue: space can become free at any later time.
        self.engine.waitsForFileSystems = true
        self.transport = session.forTransport
        self.downloads = session.forDownloads
        if session.outageTimeout == nil { self.downloads.outageTimeout = Self.outageTimeout }
        self.fields = session.baseFields
        self.session = session
        self.gate = ConditionGate(session)
        self.defaults = TransferOptions()
    }

    /// Whether transfers of other settings need other engines: whether more than limits differ.
    func needsOtherEngines(for other: LaneSettings) -> Bool {
        let mine = self.session
        var theirs = other.session
        theirs.concurrentTransfers = mine.concurrentTransfers
        theirs.rateLimit = mine.rateLimit
        if theirs.connectionsPerHost != nil, mine.connectionsPerHost != nil {
            theirs.connectionsPerHost = mine.connectionsPerHost
        }
        return mine.json != theirs.json
    }

    /// Creates the settings of the shared queue.
    init(shared session: SessionConfiguration, options: TransferOptions) throws(ControlError) {
        self.init(session: session)
        let reader = OptionReader(options: options)
        self.engine.concurrentTransfers = try reader.count(.maxConcurrentDownloads) ?? 5
        self.engine.rateLimit = try reader.limit(.maxOverallDownloadLimit)
        self.downloads.retries = 4
        self.defaults = options
        for name in [
            OptionName.dir, .out, .gid, .pause, .position, .maxConcurrentDownloads, .maxOverallDownloadLimit,
            .maxDownloadResult, .saveSession, .saveSessionInterval, .notify,
        ] {
            self.defaults[name] = nil
        }
    }
}
