// SPDX-License-Identifier: Apache-2.0

/// A file, a directory or a symbolic link of a simulated disk.
final class DiskNode {
    enum Kind {
        case file
        case directory
        case link
    }

    /// The metadata that a sync of the file makes durable.
    struct Facts {
        var mode: UInt32
        /// Nanoseconds since 1970.
        var modified: Int64
        var attributes: [String: [UInt8]] = [:]
    }

    let number: UInt64
    let kind: Kind
    var facts: Facts
    var durableFacts: Facts
    /// Nanoseconds since 1970.
    var changed: Int64
    var accessed: Int64
    /// The number of names.
    var links = 0
    /// The number of open files.
    var openings = 0
    /// Whether it was created without a name, and may get one.
    var isLinkable = false
    weak var lock: DiskOpenFile?
    let content = DiskContent()
    /// Whether it is in the disk's list of nodes to be written back.
    var isListed = false
    /// The number of changes of names and attributes before the last change of this node, and of its length.
    var changeSequence = 0
    var sizeSequence = 0

    /// The names of a directory.
    var entries: [String: DiskNode] = [:]
    var durableEntries: [String: DiskNode] = [:]
    weak var parent: DiskNode?
    /// The destination of a link.
    var destination = ""

    init(number: UInt64, kind: Kind, mode: UInt32, now: Int64) {
        self.number = number
        self.kind = kind
        self.facts = Facts(mode: mode, modified: now)
        self.durableFacts = self.facts
        self.changed = now
        self.accessed = now
    }

    /// Whether a directory was removed.
    var isDeleted: Bool { self.links == 0 }
}

/// An open file, which descriptors that dup(2) made share.
final class DiskOpenFile {
    let node: DiskNode
    /// The path under which it was opened.
    let path: String
    let isReadable: Bool
    let isWritable: Bool
    let appends: Bool
    var offset = 0
    var descriptors = 1
    /// The error of the next write.
    var nextError: Int32 = 0

    init(_ node: DiskNode, _ path: String, readable: Bool, writable: Bool, appends: Bool) {
        self.node = node
        self.path = path
        self.isReadable = readable
        self.isWritable = writable
        self.appends = appends
    }
}
