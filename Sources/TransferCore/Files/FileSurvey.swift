// SPDX-License-Identifier: Apache-2.0
/// The files found under a name.
public struct FileSurvey: Sendable {
    /// The finished file or any other entry with the final name; `nil` if the name is free.
    public var existing: ExistingFile?
    /// The partial file's state.
    public var partial: PartialState
    /// The file whose partial file or journal has this name; `nil` if there is none.
    public var owner: String?

    /// Creates a survey.
    public init(existing: ExistingFile?, partial: PartialState, owner: String? = nil) {
        self.existing = existing
        self.partial = partial
        self.owner = owner
    }
}

/// The file or other entry with the final name.
public struct ExistingFile: Sendable {
    /// Whether it is a regular file.
    public var isRegular: Bool
    /// Its size in bytes.
    public var size: Int64
    /// Its modification time, whole seconds since 1970.
    public var modified: Int64
    /// The validators that Martlet stored when it finished the file (extended attribute `user.martlet.version`, which
    /// also contains the size and the modification time of the file; `nil` if they no longer match).
    public var recorded: RecordedVersion?
    /// Whether aria2's control file, `NAME.aria2`, is beside it: the file has holes until aria2 has finished it.
    public var hasControlFile = false
    /// The mark of the transfer that fetched it (attribute `user.martlet.transfer`, validated in the same way).
    public var mark: String?
    /// The attributes that show whether it is still the same file, unchanged.
    package var file: FileIdentity

    /// Size and modification time, which distinguish the file from another one that takes its name.
    package var identity: String { "\(self.size) \(self.modified)" }

    /// Creates the description of a file.
    public init(
        isRegular: Bool,
        size: Int64,
        modified: Int64,
        recorded: RecordedVersion? = nil,
        mark: String? = nil,
        file: FileIdentity? = nil
    ) {
        self.isRegular = isRegular
        self.size = size
        self.modified = modified
        self.recorded = recorded
        self.mark = mark
        let nanoseconds = modified.multipliedReportingOverflow(by: 1_000_000_000).partialValue
        self.file = file ?? FileIdentity(size: size, modified: nanoseconds, changed: nil, device: 0, inode: 0)
    }
}

/// The validators of the response that a finished file is from.
public struct RecordedVersion: Hashable, Sendable {
    /// `ETag` as sent.
    public var entityTag: String?
    /// `Last-Modified` as sent.
    public var lastModified: String?
    /// `Date` of that response, as sent.
    public var date: String?

    /// Creates a record.
    public init(entityTag: String? = nil, lastModified: String? = nil, date: String? = nil) {
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.date = date
    }
}

/// The state of `NAME.part` and `NAME.part.journal`.
public enum PartialState: Sendable {
    /// Neither exists.
    case none
    /// A partial file with a valid journal of ours.
    case ours(ResourceFacts, written: Int64)
    /// An interrupted commit: according to the journal the file is complete, and it already has its final name.
    case committed
    /// Another process, or another engine of this one, has it locked; with the journal's facts if they can be read.
    case busy(ResourceFacts?)
    /// A partial file and an intact journal that do not belong together: the number that both must have differs.
    ///
    /// It is left unchanged, and its bytes are used only if a digest of the whole file is compared. The text states the
    /// reason.
    case unpaired(ResourceFacts, reason: String)
    /// A file without an intact journal of ours; it is left unchanged. The text states the reason.
    case foreign(String)
}
