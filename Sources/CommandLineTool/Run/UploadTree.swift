// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore

/// Finds the files below a directory, one by one.
///
/// One directory is open at a time, and only the names of directories that follow are kept: memory does not depend on the
/// number of files. Links are not followed, because they may form cycles and lead out of the tree.
struct UploadTree {
    /// What was found.
    enum Item: Equatable {
        /// A regular file: its path, and the names from the directory to it.
        case file(String, names: [String])
        /// A file or directory left out, and why.
        case leftOut(String, Reason)
        /// Something that cannot be read.
        case unreadable(String, String)
    }

    /// Why something in a directory is not sent.
    enum Reason: String, CaseIterable {
        case link = "a symbolic link"
        case emptyDirectory = "an empty directory"
        case special = "not a regular file"
    }

    private struct Place {
        var path: String
        var names: [String]
    }

    private var waiting: [Place]
    private var current: (place: Place, entries: DirectoryEntries)?
    private var found: [Place] = []
    /// Whether the current directory has an entry.
    private var isEmpty = true

    /// - Parameters:
    ///   - path: The directory.
    ///   - names: The names that precede those of its entries.
    init(_ path: String, names: [String]) { self.waiting = [Place(path: path, names: names)] }

    /// The next item, or `nil` at the end; blocks.
    mutating func next() -> Item? {
        while true {
            if let current = self.current {
                if let item = self.entry(of: current.place, current.entries) { return item }
                // The directory has ended.
                continue
            }
            guard let place = self.waiting.popLast() else { return nil }
            // A directory that was replaced by a link meanwhile is not followed; that of the user may be one.
            let follows = place.path.hasSuffix("/")
            let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW)
            let descriptor = FileCalls.open(place.path, flags)
            guard descriptor >= 0, let entries = DirectoryEntries(descriptor) else {
                return .unreadable(place.path, String(cString: strerror(errno)))
            }
            self.current = (place, entries)
            self.isEmpty = true
        }
    }

    /// The next item of the open directory; `nil` if its state has changed.
    private mutating func entry(of place: Place, _ entries: DirectoryEntries) -> Item? {
        let name = entries.next { bytes -> (text: String?, shown: String) in
            let shown = String(decoding: bytes, as: UTF8.self)
            return (String(validating: bytes, as: UTF8.self), shown)
        }
        guard let name else {
            let number = errno
            self.current = nil
            self.waiting += self.found.reversed()
            self.found = []
            if number != 0 { return .unreadable(place.path, String(cString: strerror(number))) }
            return self.isEmpty ? .leftOut(place.path, .emptyDirectory) : nil
        }
        if name.shown == "." || name.shown == ".." { return nil }
        self.isEmpty = false
        let path = place.path.hasSuffix("/") ? place.path + name.shown : place.path + "/" + name.shown
        guard let text = name.text else { return .unreadable(path, "its name is not UTF-8; rename it") }
        var status = stat()
        guard fstatat(entries.descriptor, text, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            // It was deleted meanwhile.
            return errno == ENOENT ? nil : .unreadable(path, String(cString: strerror(errno)))
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file(path, names: place.names + [text])
        case S_IFDIR:
            self.found.append(Place(path: path, names: place.names + [text]))
            return nil
        case S_IFLNK: return .leftOut(path, .link)
        default: return .leftOut(path, .special)
        }
    }
}

/// Counts what is not sent, and says so for the first of each kind.
struct LeftOutFiles {
    /// The number of lines for each reason.
    static let most = 10

    private var counts: [UploadTree.Reason: Int] = [:]

    /// Counts one; returns the line that says so, unless there are too many.
    mutating func add(_ path: String, _ reason: UploadTree.Reason) -> String? {
        self.counts[reason, default: 0] += 1
        return self.counts[reason, default: 0] <= Self.most ? "not sent: \(path) is \(reason.rawValue)" : nil
    }

    /// The lines about those that were not named.
    var rest: [String] {
        UploadTree.Reason.allCases.compactMap { reason in
            let more = self.counts[reason, default: 0] - Self.most
            return more > 0 ? "not sent: \(more) more, each \(reason.rawValue)" : nil
        }
    }
}
