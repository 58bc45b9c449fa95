// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Files
internal import Platform
internal import Synchronization
internal import TransferCore

/// The shared files, by the tokens of their links.
///
/// A ``LinkBook`` decides, under a lock; its changes are stored in a ``LinkStore``. Changes of several requests that are
/// stored at the same time share one sync.
final class ShareTable: Sendable {
    struct State {
        var book: LinkBook
        /// The files of this run's offers.
        ///
        /// They stay open: such a link refers to the file that was opened at the start, even if it is renamed or replaced
        /// later.
        var offered: [String: OpenFile] = [:]
        /// The last batch of the book that is stored.
        var durable: UInt64 = 0
        /// Whether storing failed, so that the whole book must be stored.
        var mustReplace = false
    }

    let state: Mutex<State>
    private let store: LinkStore?
    private let tree: ServedTree?
    /// The paths of the links of this run's offers, in their order.
    let paths: [String]

    /// Reads the stored links, and opens the files of the offers.
    ///
    /// An offer of a file whose link is stored, with the same limits, gets the same link.
    ///
    /// - Parameters:
    ///   - offers: The files to share.
    ///   - store: The store, or `nil` to keep links in memory.
    ///   - tree: The served directory, for links that are made by requests.
    ///   - owner: The address for which links are stored if no directory is served.
    ///   - passwordRounds: The iterations of hashes of the offers' passwords.
    ///   - now: The current time, in seconds since 1970.
    /// - Throws: ``ReceiverError`` with `directory` if a file cannot be opened or is not a regular file, `links` if the
    ///   store is damaged or cannot be written.
    init(
        _ offers: [ShareOffer],
        store: LinkStore? = nil,
        tree: ServedTree? = nil,
        owner: String = "",
        passwordRounds: Int = PasswordHash.usualRounds,
        now: Int64
    ) throws(ReceiverError) {
        var book = LinkBook(owner: tree.map { Self.real($0.path) } ?? owner)
        if let store {
            do throws(StorageError) {
                for record in try store.read() where !book.apply(record) { throw Self.unreadable }
            } catch {
                throw ReceiverError(.links, "the stored links cannot be used: \(error.message)")
            }
            book.restarted(now: now)
            book.prune(now: now)
        }
        var state = State(book: book)
        var paths: [String] = []
        for offer in offers {
            let (file, link) = try Self.link(for: offer, in: &state, passwordRounds, now: now)
            state.offered[link.token] = file
            paths.append(link.url)
        }
        self.paths = paths
        self.state = Mutex(state)
        self.store = store
        self.tree = tree
        do throws(StorageError) {
            try self.save()
        } catch {
            throw ReceiverError(.links, "the links cannot be stored: \(error.message)")
        }
    }

    private static func link(
        for offer: ShareOffer,
        in state: inout State,
        _ passwordRounds: Int,
        now: Int64
    ) throws(ReceiverError) -> (OpenFile, StoredLink) {
        let raw = Platform.open(offer.path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard raw >= 0 else {
            throw ReceiverError(.directory, "cannot share '\(offer.path)': \(String(cString: strerror(errno)))")
        }
        let file = OpenFile(raw)
        guard let status = file.status(), status.st_mode & S_IFMT == S_IFREG else {
            throw ReceiverError(.directory, "cannot share '\(offer.path)': it is not a regular file")
        }
        var link = StoredLink(
            .option,
            path: [Self.absolute(offer.path)],
            file: FileIdentity(linked: status),
            created: now,
            lifetime: offer.lifetime,
            downloads: offer.downloads
        )
        var isFound = false
        let known = state.book.entries.values.filter { $0.link.origin == .option && $0.link.path == link.path }
        for entry in known.sorted(by: { $0.link.token < $1.link.token }) where state.offered[entry.link.token] == nil {
            let old = entry.link
            guard entry.over(now: now) == nil else { continue }
            // The file may have been written to since: it is the same as long as it was not replaced.
            let isSame = old.file.inode == link.file.inode && old.downloads == link.downloads
            guard isSame, old.lifetime == link.lifetime, Self.isSame(old.password, offer.password) else {
                _ = state.book.revoke(old.token, now: now)
                continue
            }
            guard entry.share.admitsOthers(of: old.file.size) else {
                // It still works for the clients that have begun a download.
                state.offered[old.token] = file
                continue
            }
            guard !isFound else { continue }
            isFound = true
            link.token = old.token
            link.created = old.created
            link.expires = old.expires
            link.password = old.password
        }
        if !isFound { link.password = offer.password.map { PasswordHash($0, rounds: passwordRounds) } }
        guard state.book.put(link, now: now) != nil else { throw Self.full }
        return (file, link)
    }

    /// Whether a stored link has the password of an offer; hashes it.
    private static func isSame(_ stored: PasswordHash?, _ offered: String?) -> Bool {
        guard let stored, let offered else { return stored == nil && offered == nil }
        return stored.accepts(offered)
    }

    /// The absolute path of a file, with the name that the user gave it, which is that of the link.
    private static func absolute(_ path: String) -> String {
        guard let name = path.split(separator: "/").last else { return path }
        let parent = String(path.dropLast(path.hasSuffix("/") ? 0 : name.count))
        return self.real(parent.isEmpty ? "." : parent) + "/" + name
    }

    private static func real(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    private static let full = ReceiverError(
        .links,
        "there are \(LinkBook.most) links already; remove some with: martlet links --remove LINK"
    )
    private static let unreadable = StorageError(
        .badJournal,
        "a record is not understood; restore the file from a backup, or move it away and lose the links"
    )

    // MARK: Storing

    /// Stores a batch of changes, unless it is stored already; blocks.
    ///
    /// - Returns: Whether it is stored, and the changes by it may be acted upon.
    func persist(_ batch: UInt64) -> Bool {
        if self.state.withLock({ $0.durable >= batch }) { return true }
        return (try? self.save(batch)) != nil
    }

    /// Stores all changes; blocks.
    func persistAll() { _ = try? self.save() }

    private func save(_ batch: UInt64 = .max) throws(StorageError) {
        guard let store else {
            self.state.withLock { state in
                _ = state.book.takeChanges()
                state.durable = state.book.batch - 1
            }
            return
        }
        var written: UInt64 = 0
        let change = {
            self.state.withLock { state -> LinkStore.Change? in
                if state.mustReplace { return .replace }
                guard state.durable < batch, let record = state.book.takeChanges() else { return nil }
                written = state.book.batch - 1
                // Until it is stored: the next one to write must not pass over a failure.
                state.mustReplace = true
                return .append(record)
            }
        }
        let snapshot = {
            self.state.withLock { state in
                let snapshot = state.book.takeSnapshot()
                written = state.book.batch - 1
                state.mustReplace = true
                return snapshot
            }
        }
        let stored = {
            self.state.withLock { state in
                state.durable = max(state.durable, written)
                state.mustReplace = false
            }
        }
        let apply = { (records: [[UInt8]]) throws(StorageError) in try self.apply(records) }
        try store.write(apply: apply, change: change, snapshot: snapshot, stored: stored)
    }

    private func apply(_ records: [[UInt8]]) throws(StorageError) {
        guard !records.isEmpty else { return }
        guard self.state.withLock({ state in records.allSatisfy { state.book.apply($0) } }) else {
            throw Self.unreadable
        }
    }

    /// Applies the revocations of other processes; blocks.
    ///
    /// - Returns: Whether the links are up to date.
    func refresh() -> Bool {
        guard let store, store.hasChanged else { return true }
        do throws(StorageError) {
            try self.apply(try store.readAppended())
            return true
        } catch {
            return false
        }
    }

    /// Forgets old links and applies revocations; blocks.
    func sweep(now: Int64) {
        _ = self.refresh()
        self.state.withLock { $0.book.prune(now: now) }
        self.persistAll()
    }

    /// Stores what is left and releases the store.
    func close() {
        self.state.withLock { $0.book.settle() }
        self.persistAll()
        self.store?.close()
    }

    // MARK: Files

    /// The link of a token, or `nil`; blocks.
    func link(_ token: String) -> StoredLink? {
        guard self.refresh() else { return nil }
        return self.state.withLock { $0.book[token]?.link }
    }

    /// Opens the file of a link; `nil` if it is gone or was replaced.
    func open(_ link: StoredLink, _ offered: OpenFile?) -> (file: OpenFile, facts: FileFacts)? {
        if link.origin == .option {
            // The file may be written to while it is shared: use its current metadata.
            return offered.flatMap { file in file.status().map { (file, FileFacts($0)) } }
        }
        guard let tree, case .file(let file, let facts)? = try? tree.open(TreePath(names: link.path)),
            let status = file.status(), FileIdentity(linked: status).matches(link.file)
        else { return nil }
        return (file, facts)
    }

    // MARK: Counting

    /// Counts bytes of a download that are about to be sent; blocks if the number of bytes stored is raised.
    ///
    /// - Parameters:
    ///   - count: The number of bytes.
    ///   - ahead: The number of bytes of the response that follow.
    ///   - length: The length of the file.
    ///   - token: The link.
    ///   - claim: The claim.
    /// - Returns: Whether they may be sent.
    func take(_ count: Int64, ahead: Int64, of length: Int64, _ token: String, _ claim: Share.ClaimID) -> Bool {
        let batch = self.state.withLock { state -> UInt64? in
            guard let entry = state.book[token], entry.link.revoked == nil else { return nil }
            var isTaken = false
            let batch = state.book.use(token) { share in
                isTaken = share.take(count, of: length, for: claim)
                return isTaken && share.lease(claim, ahead: ahead, of: length)
            }
            return isTaken ? batch : nil
        }
        guard let batch else { return false }
        if self.persist(batch) { return true }
        self.untake(count, token, claim)
        return false
    }

    /// Returns bytes that were taken and are not sent.
    func untake(_ count: Int64, _ token: String, _ claim: Share.ClaimID) {
        self.use(token) { $0.untake(count, for: claim) }
    }

    /// Reports the end of a response of a download.
    ///
    /// - Returns: Whether there is something to store, without haste.
    func ended(_ token: String, _ claim: Share.ClaimID, unsent: Int64) -> Bool {
        self.use(token) { $0.ended(claim, unsent: unsent, now: Timestamp.now) }
        return self.store != nil && self.state.withLock { $0.book.hasChanges }
    }

    private func use(_ token: String, _ change: (inout Share) -> Void) {
        self.state.withLock { state in
            _ = state.book.use(token) { share in
                change(&share)
                return false
            }
        }
    }
}
