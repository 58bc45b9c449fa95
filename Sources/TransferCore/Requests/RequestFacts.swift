// SPDX-License-Identifier: Apache-2.0
/// The properties of a request that a policy depends on.
public struct RequestFacts: Sendable {
    /// The transfer.
    public var id: TransferID
    /// The value that the caller attached to the transfer.
    public var userInfo: (any Sendable)?
    /// The method.
    public var method: String
    /// The URL of the request.
    public var url: HTTPURL
    /// The source's URL, before redirects.
    public var source: HTTPURL
    /// The number of times that credentials were refused before this request.
    public var refusals: Int
    /// Whether the source is the transfer's first one, not a mirror.
    package var isFirstSource = true

    /// Whether a redirect has led to another origin before, which may have chosen the URL.
    package var hasLeftOrigin = false

    /// Creates the properties of a request for the transfer's first source.
    package init(
        id: TransferID,
        userInfo: (any Sendable)? = nil,
        method: String,
        url: HTTPURL,
        source: HTTPURL,
        refusals: Int
    ) {
        self.id = id
        self.userInfo = userInfo
        self.method = method
        self.url = url
        self.source = source
        self.refusals = refusals
    }

    /// Creates the properties of a request of a flow.
    package init(
        id: TransferID,
        userInfo: (any Sendable)?,
        method: String,
        flow: RequestFlow,
        source: HTTPURL
    ) {
        self.init(
            id: id,
            userInfo: userInfo,
            method: method,
            url: flow.url,
            source: source,
            refusals: flow.refusals
        )
        self.hasLeftOrigin = flow.hasLeftOrigin
    }
}
