internal import Control

/// aria2's notifications.
enum Aria2Notification: String, CaseIterable {
    case start = "aria2.onDownloadStart"
    case pause = "aria2.onDownloadPause"
    case stop = "aria2.onDownloadStop"
    case complete = "aria2.onDownloadComplete"
    case error = "aria2.onDownloadError"
    /// Never sent; named because aria2 names it.
    case bitTorrentComplete = "aria2.onBtDownloadComplete"

    /// The message for one transfer.
    func message(_ id: GID) -> JSON {
        ["jsonrpc": "2.0", "method": .string(self.rawValue), "params": [["gid": .string(id.description)]]]
    }
}

extension ServiceEvent {
    /// The kinds of events, as `/events` and `martlet.subscribe` name them.
    static let kinds = ["started", "paused", "removed", "finished", "failed", "queued", "progress", "drained"]

    /// The kind's name.
    var kind: String {
        switch self {
        case .started: "started"
        case .paused: "paused"
        case .removed: "removed"
        case .finished: "finished"
        case .failed: "failed"
        case .queued: "queued"
        case .progress: "progress"
        case .drained: "drained"
        }
    }

    /// The event as an object.
    var json: JSON {
        let kind = JSON.string(self.kind)
        return switch self {
        case .started(let record), .paused(let record), .removed(let record), .finished(let record),
            .failed(let record), .queued(let record):
            ["kind": kind, "transfer": record.json]
        case .progress(let records): ["kind": kind, "transfers": .array(records.map(\.json))]
        case .drained: ["kind": kind]
        }
    }

    /// What aria2 would say to it; nothing for transfers of background sessions, which aria2's methods do not list.
    var aria2: JSON? {
        switch self {
        case .started(let record): Self.message(.start, record)
        case .paused(let record): Self.message(.pause, record)
        case .removed(let record): Self.message(.stop, record)
        case .finished(let record): Self.message(.complete, record)
        case .failed(let record): Self.message(.error, record)
        case .queued, .progress, .drained: nil
        }
    }

    private static func message(_ notification: Aria2Notification, _ record: TransferRecord) -> JSON? {
        record.session == nil ? notification.message(record.id) : nil
    }
}
