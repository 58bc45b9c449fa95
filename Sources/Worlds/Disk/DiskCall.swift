// SPDX-License-Identifier: Apache-2.0

/// A system call that a simulated disk is about to make.
package struct DiskCall {
    /// The name of the call, as of the C library: `pwrite`, `renameat`.
    package var name: String
    /// The path, or that under which the descriptor was opened.
    package var path: String
    /// The process that makes the call.
    package var process: Int
    /// Whether it changes files, names or attributes, or makes them durable.
    package var changes: Bool
    /// The number of bytes to read or write.
    package var count: Int
}

/// The fault of a system call.
package enum DiskFault: Equatable {
    /// The call is made.
    case none
    /// The call fails with an error number and changes nothing. If it is a sync, the data is not written later either.
    case error(Int32)
    /// A write ends after so many bytes, and the next write to the file fails with the error number.
    case short(Int, then: Int32)
    /// The process is killed before the call.
    case killBefore
    /// The process is killed after the call.
    case killAfter
}

/// The features of a simulated file system beyond POSIX.
package struct DiskFeatures: Equatable {
    /// Unnamed files (`O_TMPFILE`).
    package var unnamedFiles = true
    /// Extended attributes of users.
    package var attributes = true
    /// renameat2(2) with `RENAME_NOREPLACE`.
    package var renameWithoutReplacing = true
    /// Hard links.
    package var links = true
    /// fallocate(2).
    package var allocation = true
    /// copy_file_range(2).
    package var copyRange = true
    package var locks = true
    /// syncfs(2).
    package var syncFilesystem = true

    /// Everything that ext4 supports.
    package init() {}

    /// The features of exFAT: none of these.
    package static var exFAT: Self {
        var features = Self()
        features.unnamedFiles = false
        features.attributes = false
        features.renameWithoutReplacing = false
        features.links = false
        features.allocation = false
        features.copyRange = false
        return features
    }

    /// The features of NFS version 3.
    package static var nfs: Self {
        var features = Self()
        features.unnamedFiles = false
        features.attributes = false
        features.renameWithoutReplacing = false
        features.allocation = false
        features.copyRange = false
        return features
    }
}

/// Which changes of names and attributes survive a loss of power, if they were not synced.
package enum DiskMetadataOrder {
    /// Those before some moment, as with the journals of ext4 and XFS.
    ///
    /// A sync of a file or a directory makes all changes durable that preceded its last change.
    case journaled
    /// Any of them, independently of one another, which is all that POSIX promises.
    ///
    /// A sync of a directory makes its names durable, and a sync of a file its attributes.
    case independent
}
