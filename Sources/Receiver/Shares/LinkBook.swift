// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// All links of a receiver, with the downloads that were made by them, and what of it is not stored yet.
///
/// Pure value. Its records are the payloads of a `LineLog`; a record is an object with the links that were made or
/// changed, their downloads, and the tokens that were revoked or forgotten.
struct LinkBook: Sendable {
    /// A link with its downloads.
    struct Entry: Sendable {
        var link: StoredLink
        var share: Share
        /// The number of the batch that has to be stored before anything is sent.
        var batch: UInt64 = 0

        init(_ link: StoredLink) {
            self.link = link
            self.share = Share(expires: link.expires, downloads: link.downloads)
        }

        /// The time since which the link grants nothing, in seconds since 1970; `nil` if it can be used.
        func over(now: Int64) -> Int64? { self.link.revoked ?? self.share.over(of: self.link.file.size, now: now) }
    }

    /// The maximum number of links of a receiver.
    static let most = 100_000
    /// The time for which links are kept that cannot be used any more, in seconds.
    static let memory: Int64 = 30 * 86400

    /// The links by their tokens.
    private(set) var entries: [String: Entry] = [:]
    /// The served directory or address, for the list of links.
    private(set) var owner: String
    private var tokens: [String: String] = [:]
    private var changed: Set<String> = []
    private var used: Set<String> = []
    private var forgotten: Set<String> = []
    /// The number of the batch that collects changes; see ``takeChanges()``.
    private(set) var batch: UInt64 = 1
    private let most: Int

    /// Creates an empty book.
    init(owner: String = "", most: Int = LinkBook.most) {
        self.owner = owner
        self.most = most
    }

    /// A link and its downloads.
    subscript(token: String) -> Entry? { self.entries[token] }

    /// The link of a resumable upload.
    func link(ofUpload id: String) -> StoredLink? { self.tokens[id].flatMap { self.entries[$0]?.link } }

    // MARK: Changing

    /// Adds or changes a link; returns the batch with the change, or `nil` if there are too many links.
    mutating func put(_ link: StoredLink, now: Int64) -> UInt64? {
        if self.entries[link.token] == nil {
            if self.entries.count >= self.most { self.prune(now: now, keeping: self.most - self.most / 10) }
            guard self.entries.count < self.most else { return nil }
            self.entries[link.token] = Entry(link)
        }
        self.entries[link.token]?.link = link
        if let upload = link.upload { self.tokens[upload] = link.token }
        self.changed.insert(link.token)
        return self.batch
    }

    /// Revokes a link; returns the batch with the change.
    mutating func revoke(_ token: String, now: Int64) -> UInt64 {
        if let link = self.entries[token]?.link, link.revoked == nil {
            self.entries[token]?.link.revoked = now
            self.changed.insert(token)
        }
        return self.batch
    }

    /// Removes a link without a trace.
    mutating func forget(_ token: String) {
        guard let entry = self.entries.removeValue(forKey: token) else { return }
        if let upload = entry.link.upload { self.tokens[upload] = nil }
        self.changed.remove(token)
        self.used.remove(token)
        self.forgotten.insert(token)
    }

    /// Changes the downloads of a link.
    ///
    /// - Parameters:
    ///   - token: The link.
    ///   - change: Changes the share, and returns whether that must be stored before anything is sent.
    /// - Returns: The batch that must be stored before anything is sent.
    mutating func use(_ token: String, _ change: (inout Share) -> Bool) -> UInt64 {
        guard var entry = self.entries.removeValue(forKey: token) else { return 0 }
        if change(&entry.share) { entry.batch = self.batch }
        if !entry.share.changed.isEmpty { self.used.insert(token) }
        self.entries[token] = entry
        return entry.batch
    }

    /// Forgets links that could not be used for a month, and the oldest of these above a number of links.
    mutating func prune(now: Int64, keeping most: Int = .max) {
        var over = self.entries.compactMap { token, entry in entry.over(now: now).map { (token, $0) } }
        over.sort { $0.1 < $1.1 }
        for (token, since) in over where since.adding(clamping: Self.memory) <= now || self.entries.count > most {
            self.forget(token)
        }
    }

    /// Lowers the stored counts of all downloads to the bytes that were sent.
    mutating func settle() {
        for (token, entry) in self.entries where !entry.share.claims.isEmpty {
            _ = self.use(token) { share in
                share.settle()
                return false
            }
        }
    }

    /// Continues after a restart.
    mutating func restarted(now: Int64) {
        for (token, entry) in self.entries where !entry.share.claims.isEmpty {
            self.entries[token]?.share.restarted(length: entry.link.file.size, now: now)
        }
    }

    // MARK: Records

    /// Whether there is anything to store.
    var hasChanges: Bool { !(self.changed.isEmpty && self.used.isEmpty && self.forgotten.isEmpty) }

    /// Returns the record of all changes since the last call, or `nil`, and starts the next batch.
    mutating func takeChanges() -> [UInt8]? {
        guard self.hasChanges else { return nil }
        var members: [JSON.Member] = []
        if !self.changed.isEmpty {
            members.append(JSON.Member("links", .array(self.changed.compactMap { self.entries[$0]?.link.json })))
        }
        if !self.used.isEmpty {
            members.append(
                JSON.Member(
                    "uses",
                    .array(
                        self.used.compactMap { token in
                            self.entries[token]?.share.takeChanges().map { Self.use(token, $0) }
                        }
                    )
                )
            )
        }
        if !self.forgotten.isEmpty {
            members.append(JSON.Member("forgotten", .array(self.forgotten.map { .string($0) })))
        }
        self.changed = []
        self.used = []
        self.forgotten = []
        self.batch += 1
        return JSON.object(members).bytes
    }

    /// Returns the records of everything, and starts the next batch.
    mutating func takeSnapshot() -> [[UInt8]] {
        _ = self.takeChanges()
        self.batch += 1
        let owner = JSON.object([JSON.Member("owner", .string(self.owner))]).bytes
        return [owner]
            + self.entries.values.sorted { $0.link.created < $1.link.created }
            .map { entry in
                JSON.object([
                    JSON.Member("links", .array([entry.link.json])),
                    JSON.Member("uses", .array([Self.use(entry.link.token, entry.share.record)])),
                ])
                .bytes
            }
    }

    /// The record of a revocation by another process.
    static func revocation(of tokens: [String], now: Int64) -> [UInt8] {
        JSON.object([
            JSON.Member("revoked", .array(tokens.map { .string($0) })), JSON.Member("time", .integer(now)),
        ])
        .bytes
    }

    private static func use(_ token: String, _ record: [JSON.Member]) -> JSON {
        .object([JSON.Member("token", .string(token))] + record)
    }

    /// Applies a record.
    ///
    /// - Returns: Whether it is valid.
    mutating func apply(_ record: [UInt8]) -> Bool {
        guard let json = try? JSON(parsing: record), json.object != nil else { return false }
        if let owner = json["owner"]?.string { self.owner = owner }
        for member in json["links"]?.array ?? [] {
            guard let link = StoredLink(json: member) else { return false }
            if self.entries[link.token] == nil { self.entries[link.token] = Entry(link) }
            self.entries[link.token]?.link = link
            if let upload = link.upload { self.tokens[upload] = link.token }
        }
        for use in json["uses"]?.array ?? [] {
            guard let token = use["token"]?.string, let isValid = self.entries[token]?.share.apply(use), isValid else {
                return false
            }
        }
        for token in json["revoked"]?.array ?? [] {
            guard let token = token.string, let time = json["time"]?.integer else { return false }
            if self.entries[token]?.link.revoked == nil { self.entries[token]?.link.revoked = time }
        }
        for token in json["forgotten"]?.array ?? [] {
            guard let token = token.string else { return false }
            if let upload = self.entries.removeValue(forKey: token)?.link.upload { self.tokens[upload] = nil }
        }
        return true
    }
}
