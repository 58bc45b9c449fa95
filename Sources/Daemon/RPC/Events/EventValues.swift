// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// aria2's notifications.
enum Aria2Notification: String, CaseIterable {
    case start = "aria2.onDownloadStart"
    case pause = "aria2.onDownloadPause"
    case stop = "aria2.onDownloadStop"
    case complete = "aria2.onDownloadComplete"
    case error = "aria2.onDownloadError"
    /// Never sent; `system.listNotifications` lists it as aria2 does.
    case bitTorrentComplete = "aria2.onBtDownloadComplete"

    /// Returns the notification for one transfer.
    func message(_ id: GID) -> JSON {
        ["jsonrpc": "2.0", "method": .string(self.rawValue), "params": [["gid": .string(id.description)]]]
    }
}

extension ServiceEvent {
    /// The names of all kinds of events in `/events` and `martlet.subscribe`.
    static let kinds = [
        "started", "paused", "removed", "finished", "failed", "queued", "all", "progress", "drained", "changed",
    ]

    /// The name of the event's kind.
    var kind: String { Self.kinds[self.interest.rawValue.trailingZeroBitCount] }

    /// The event as a JSON object.
    var json: JSON {
        let kind = JSON.string(self.kind)
        return switch self {
        case .started(let record), .paused(let record), .removed(let record), .finished(let record),
            .failed(let record), .queued(let record), .changed(let record):
            ["kind": kind, "transfer": record.json]
        case .progress(let records): ["kind": kind, "transfers": .array(records.map(\.json))]
        case .all(let state, let session, let count):
            [
                "kind": kind, "state": .string(state.rawValue), "session": .optional(session),
                "count": .integer(Int64(count)),
            ]
        case .drained: ["kind": kind]
        }
    }

    /// The notification of aria2 for the event; `nil` for background sessions, which aria2's methods do not list.
    var aria2: JSON? {
        switch self {
        case .started(let record): Self.message(.start, record)
        case .paused(let record): Self.message(.pause, record)
        case .removed(let record): Self.message(.stop, record)
        case .finished(let record): Self.message(.complete, record)
        case .failed(let record): Self.message(.error, record)
        case .queued, .all, .progress, .drained, .changed: nil
        }
    }

    private static func message(_ notification: Aria2Notification, _ record: TransferRecord) -> JSON? {
        record.session == nil ? notification.message(record.id) : nil
    }
}

extension ServiceEvent.Interest {
    /// Creates a set from the names of kinds; unknown names are ignored.
    init(kinds: some Sequence<some StringProtocol>) {
        self = []
        for kind in kinds {
            guard let index = ServiceEvent.kinds.firstIndex(where: { $0 == kind }) else { continue }
            self.insert(Self(rawValue: 1 << index))
        }
    }
}
