// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// One transfer to be added to the daemon's queue.
public struct NewTransfer: Sendable, Hashable {
    /// The identifier of the transfer; `nil` lets the daemon choose one.
    ///
    /// A known identifier is refused, so that a client that did not receive the response can repeat the request without
    /// adding the transfer twice.
    public var id: GID?
    /// The file's URLs, at least one; more are mirrors.
    ///
    /// An upload has exactly one, its target.
    public var urls: [String]
    /// The content, if it is an upload.
    public var upload: UploadSource?
    /// Its options, without `gid`, `pause` and `position`, which are separate members or parameters.
    public var options: TransferOptions
    /// Whether it is added paused.
    public var isPaused: Bool
    /// The background session that it belongs to.
    public var session: String?

    /// Creates a transfer.
    public init(
        id: GID? = nil,
        urls: [String],
        options: TransferOptions = TransferOptions(),
        isPaused: Bool = false,
        session: String? = nil
    ) {
        self.id = id
        self.urls = urls
        self.options = options
        self.isPaused = isPaused
        self.session = session
    }
}

extension NewTransfer {
    /// The transfer as an entry of `martlet.add`.
    public var json: JSON {
        var members: [JSON.Member] = [.init("urls", .array(self.urls.map { .string($0) }))]
        if let id = self.id { members.append(.init("id", .string(id.description))) }
        if let upload = self.upload { members.append(.init("upload", upload.json)) }
        if !self.options.isEmpty { members.append(.init("options", self.options.json)) }
        if self.isPaused { members.append(.init("paused", true)) }
        if let session = self.session { members.append(.init("session", .string(session))) }
        return .object(members)
    }
}
