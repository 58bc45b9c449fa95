// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import HTTPServer
internal import Platform
internal import Synchronization
internal import TransferCore

/// Making and revoking links while the receiver runs. Every method blocks.
extension ShareTable {
    /// A link with its state, for lists.
    struct Listed: Sendable {
        var link: StoredLink
        /// The number of complete downloads.
        var completed: Int
        /// Whether it can be used.
        var isUsable: Bool
    }

    /// Makes a link, and stores it.
    ///
    /// - Throws: ``UploadRefusal`` with 507 if it cannot be stored.
    func make(_ link: StoredLink, now: Int64) throws(UploadRefusal) {
        guard let batch = self.state.withLock({ $0.book.put(link, now: now) }) else {
            throw UploadRefusal(507, "there are too many links; remove some")
        }
        guard self.persist(batch) else {
            self.state.withLock { $0.book.forget(link.token) }
            throw UploadRefusal(507, "the link cannot be stored")
        }
    }

    /// The links that can be used, and those that could be until recently; the newest first.
    func list(now: Int64, where isIncluded: (StoredLink) -> Bool) -> [Listed] {
        _ = self.refresh()
        return self.state
            .withLock { state in
                state.book.entries.values.filter { isIncluded($0.link) }
                    .map { entry in
                        let isActive = entry.link.origin != .option || state.offered[entry.link.token] != nil
                        return Listed(
                            link: entry.link,
                            completed: entry.share.completed(of: entry.link.file.size),
                            isUsable: isActive && entry.over(now: now) == nil
                        )
                    }
            }
            .sorted { ($0.link.created, $0.link.token) > ($1.link.created, $1.link.token) }
    }

    /// Revokes a link.
    ///
    /// - Returns: Whether it exists and may be revoked.
    /// - Throws: ``UploadRefusal`` with 507 if that cannot be stored.
    func revoke(_ token: String, now: Int64, where isPermitted: (StoredLink) -> Bool) throws(UploadRefusal) -> Bool {
        _ = self.refresh()
        let batch = self.state.withLock { state -> UInt64? in
            guard let entry = state.book[token], isPermitted(entry.link) else { return nil }
            return state.book.revoke(token, now: now)
        }
        guard let batch else { return false }
        guard self.persist(batch) else { throw UploadRefusal(507, "the revocation cannot be stored") }
        return true
    }

    // MARK: Uploads

    /// Stores the link of an upload before its file is renamed, so that an upload that was completed has one even if
    /// the receiver dies before the response.
    ///
    /// - Returns: The link; the one that is stored already if the upload was completed before.
    func prepare(
        _ place: LandingPlace,
        _ file: OpenFile,
        upload: UploadName,
        lifetime: Duration?,
        downloads: Int?,
        user: String?
    ) -> StoredLink? {
        if let known = self.link(of: upload) { return known }
        guard let status = file.status() else { return nil }
        let now = Timestamp.now
        var link = StoredLink(
            .upload,
            path: place.directory + [place.name],
            file: FileIdentity(linked: status),
            created: now,
            lifetime: lifetime,
            downloads: downloads,
            creator: user,
            upload: upload.id
        )
        link.mayBeRenamed = place.mayRename
        return (try? self.make(link, now: now)) == nil ? nil : link
    }

    /// Records the final name of an upload's file.
    ///
    /// - Returns: The path of the link, or `nil` if it cannot be stored.
    func landed(_ link: StoredLink, at path: TreePath, _ file: FileIdentity) -> String? {
        var landed = link
        landed.path = path.names
        landed.file = file
        if landed.path == link.path, landed.file == link.file { return link.url }
        landed.mayBeRenamed = false
        return (try? self.make(landed, now: Timestamp.now)) == nil ? nil : landed.url
    }

    /// Removes the link of an upload that was refused.
    func withdraw(_ link: StoredLink) {
        self.state.withLock { $0.book.forget(link.token) }
    }

    /// The path of the link of an upload that has landed, or `nil` if it has none.
    ///
    /// If the receiver died between the rename and the last record, the file may have a numbered name.
    func path(ofUpload name: UploadName) -> String? {
        guard let link = self.link(of: name) else { return nil }
        if !link.mayBeRenamed || self.open(link, nil) != nil { return link.url }
        for number in 1...100 {
            var renamed = link
            renamed.path[renamed.path.count - 1] = FileName.numbered(link.name, number)
            if self.open(renamed, nil) != nil {
                return self.landed(link, at: TreePath(names: renamed.path), link.file)
            }
        }
        return nil
    }

    private func link(of upload: UploadName) -> StoredLink? {
        self.state.withLock { $0.book.link(ofUpload: upload.id) }
    }
}
