// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// A request of a session whose transport is that of ``ScriptedResponses``.
public struct ScriptedRequest: Sendable {
    /// The method.
    public let method: String
    /// The absolute URL, after redirects that of the redirect.
    public let url: HTTPURL
    /// The header fields, those of the session's configuration, cookies and credentials included.
    ///
    /// `Host`, `Connection` and `Content-Length` are not included: the connection adds them.
    public let fields: HeaderFields
    /// The whole content; empty if there is none.
    public let body: [UInt8]
    /// The number of requests that were received before this one.
    public let index: Int

    /// The value of the first field with this name.
    public subscript(name: String) -> String? { self.fields[name] }

    /// The content as UTF-8; invalid bytes are replaced.
    public var text: String { String(decoding: self.body, as: UTF8.self) }
}
