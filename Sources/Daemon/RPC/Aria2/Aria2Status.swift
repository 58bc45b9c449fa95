// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore

/// The status of a transfer in aria2's form, in which every value is a text.
struct Aria2Status: Sendable {
    let record: TransferRecord

    /// aria2's name of the transfer's state.
    var status: String {
        switch self.record.state {
        case .waiting: "waiting"
        case .active, .retrying, .held: "active"
        case .paused: "paused"
        case .finished: "complete"
        case .failed: "error"
        case .removed: "removed"
        }
    }

    /// The piece length in bytes: 1 MiB, or more for files whose bit field would be long.
    private var pieceLength: Int64 {
        var length: Int64 = 1 << 20
        while let total = self.record.total, total / length >= 1 << 14, length < 1 << 50 { length <<= 1 }
        return length
    }

    private var pieces: Int64 {
        guard let total = self.record.total, total > 0 else { return 0 }
        return (total - 1) / self.pieceLength + 1
    }

    /// The bit field of received pieces, as if bytes were received in order; `nil` while the length is unknown.
    private var bitfield: String? {
        let pieces = Int(self.pieces)
        guard pieces > 0, let total = self.record.total else { return nil }
        let whole = self.record.bytes >= total ? pieces : Int(clamping: self.record.bytes / self.pieceLength)
        let digits = (pieces + 3) / 4
        let full = max(0, min(whole, pieces)) / 4
        let rest = max(0, min(whole, pieces)) % 4
        var text = String(repeating: "f", count: full)
        if rest > 0 { text.append(["8", "c", "e"][rest - 1]) }
        text += String(repeating: "0", count: max(0, digits - text.utf8.count))
        // aria2 writes whole bytes.
        return digits % 2 == 0 ? text : text + "0"
    }

    /// The file's path, or an empty text while it is unknown.
    var path: String {
        if let path = self.record.path { return path }
        if let upload = self.record.upload { return upload.files.first ?? "" }
        guard let out = self.record.options[.out] else { return "" }
        return self.record.directory.hasSuffix("/") ? self.record.directory + out : "\(self.record.directory)/\(out)"
    }

    /// The URLs; the first one is marked as used if the transfer runs, finished or failed.
    var uris: JSON {
        let isUsed = self.record.state.isStarted || self.record.state == .finished || self.record.state == .failed
        return .array(
            self.record.urls.enumerated()
                .map { index, url in
                    ["uri": .string(url), "status": .string(isUsed && index == 0 ? "used" : "waiting")]
                }
        )
    }

    /// The list of the transfer's single file.
    var files: JSON {
        [
            [
                "index": "1", "path": .string(self.path), "length": Self.number(self.record.total ?? 0),
                "completedLength": Self.number(self.record.bytes), "selected": "true", "uris": self.uris,
            ]
        ]
    }

    /// Returns the status with the given keys; `nil` for all keys.
    func json(_ keys: Set<String>?) -> JSON {
        var members: [JSON.Member] = []
        members.reserveCapacity(keys?.count ?? 16)
        func add(_ name: String, _ value: @autoclosure () -> JSON?) {
            guard keys?.contains(name) != false, let value = value() else { return }
            members.append(JSON.Member(name, value))
        }
        let record = self.record
        let isActive = record.state.isStarted
        add("bitfield", self.bitfield.map { .string($0) })
        add("completedLength", Self.number(record.bytes))
        add("connections", Self.number(isActive ? Int64(record.connections) : 0))
        add("dir", .string(record.directory))
        let isUpload = record.upload != nil
        add("downloadSpeed", Self.number(isActive && !isUpload ? record.rate : 0))
        if record.state.isEnd {
            add("errorCode", .string(self.errorCode))
            add("errorMessage", .string(record.failure?.message ?? ""))
        }
        add("files", self.files)
        add("gid", .string(record.id.description))
        add("numPieces", Self.number(self.pieces))
        add("pieceLength", Self.number(self.pieceLength))
        add("status", .string(self.status))
        add("totalLength", Self.number(record.total ?? 0))
        add("uploadLength", Self.number(isUpload ? record.bytes : 0))
        add("uploadSpeed", Self.number(isActive && isUpload ? record.rate : 0))
        return .object(members)
    }

    private var errorCode: String {
        let number =
            switch self.record.state {
            case .finished: Aria2ExitStatus.success.number
            case .removed: Aria2ExitStatus.removed.number
            default: self.record.failure?.code ?? Aria2ExitStatus(.unknown).number
            }
        return "\(number)"
    }

    static func number(_ value: Int64) -> JSON { .string("\(value)") }
}
