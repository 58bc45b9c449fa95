// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform
internal import TransferCore

/// The links of all receivers of a user, for a program that lists and removes them.
package enum StoredLinks {
    /// The suffix of the files with links.
    package static let suffix = ".links"

    package struct Item: Sendable, Hashable {
        /// The path of the link.
        package var link: String
        /// The path of its file.
        package var file: String
        /// The number of complete downloads; 0 if they are not counted.
        package var completed: Int
        /// The maximum number of downloads, or `nil`.
        package var limit: Int?
        /// Until when it works, or why it does not.
        package var end: String
        package var hasPassword = false
    }

    /// Reads the links of all files in a directory; the oldest first.
    ///
    /// - Throws: ``ReceiverError`` with `links` if a file cannot be read or is damaged.
    package static func list(in directory: String) throws(ReceiverError) -> [Item] {
        let now = Timestamp.now
        var items: [Item] = []
        for path in try self.files(in: directory) {
            let book = try self.read(path)
            for entry in book.entries.values.sorted(by: { $0.link.created < $1.link.created }) {
                let link = entry.link
                let file = link.origin == .option ? link.path[0] : ([book.owner] + link.path).joined(separator: "/")
                let end: String
                if link.revoked != nil {
                    end = "removed"
                } else if let expires = link.expires {
                    end = (now < expires ? "until " : "expired ") + Timestamp.plain(expires)
                } else {
                    end = "no expiry"
                }
                items.append(
                    Item(
                        link: link.url,
                        file: file,
                        completed: entry.share.completed(of: link.file.size),
                        limit: link.downloads,
                        end: end,
                        hasPassword: link.password != nil
                    )
                )
            }
        }
        return items
    }

    /// Revokes a link, also while its receiver runs.
    ///
    /// - Parameters:
    ///   - link: Its URL, path or token.
    ///   - directory: The directory of the files.
    /// - Returns: Whether it exists.
    /// - Throws: ``ReceiverError`` with `links` if a file cannot be read or written.
    package static func revoke(_ link: String, in directory: String) throws(ReceiverError) -> Bool {
        let names = link.split(separator: "/")
        let token =
            names.firstIndex { $0 == ShareLink.directory }.flatMap { $0 + 1 < names.endIndex ? names[$0 + 1] : nil }
            ?? link[...]
        // Damage of one file does not keep the links of another.
        var failure: ReceiverError?
        for path in try self.files(in: directory) {
            let store: LinkStore
            do throws(ReceiverError) {
                store = try LinkStore(path, isServing: false)
            } catch {
                failure = error
                continue
            }
            var isFound = false
            do throws(StorageError) {
                try store.append { (records) throws(StorageError) in
                    isFound = try self.book(records, path)[String(token)] != nil
                    return isFound ? LinkBook.revocation(of: [String(token)], now: Timestamp.now) : nil
                }
            } catch {
                failure = ReceiverError(.links, "the link cannot be removed: \(error.message)")
            }
            if isFound, failure == nil { return true }
            if isFound { break }
        }
        if let failure { throw failure }
        return false
    }

    private static func read(_ path: String) throws(ReceiverError) -> LinkBook {
        let store = try LinkStore(path, isServing: false)
        do throws(StorageError) {
            return try self.book(try store.read(), path)
        } catch {
            throw ReceiverError(.links, "the stored links cannot be used: \(error.message)")
        }
    }

    private static func book(_ records: [[UInt8]], _ path: String) throws(StorageError) -> LinkBook {
        var book = LinkBook()
        for record in records where !book.apply(record) {
            throw StorageError(.badJournal, "'\(path)' has a record that is not understood; use a newer martlet")
        }
        return book
    }

    private static func unreadable(_ directory: String, _ number: Int32) -> ReceiverError {
        ReceiverError(.links, "cannot read the directory '\(directory)': \(String(cString: strerror(number)))")
    }

    private static func files(in directory: String) throws(ReceiverError) -> [String] {
        guard let stream = opendir(directory) else {
            if errno == ENOENT { return [] }
            throw self.unreadable(directory, errno)
        }
        defer { closedir(stream) }
        var files: [String] = []
        while true {
            errno = 0
            guard let next = readdir(stream) else {
                guard errno == 0 else { throw self.unreadable(directory, errno) }
                break
            }
            let name = withUnsafeBytes(of: &next.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(self.suffix), !name.hasPrefix(".") { files.append("\(directory)/\(name)") }
        }
        return files.sorted()
    }
}
