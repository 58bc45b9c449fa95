// SPDX-License-Identifier: Apache-2.0
/// The properties of a request, and of its connection, that the form of every response depends on.
struct ResponseForm: Hashable, Sendable {
    /// Whether the method is HEAD: the content is omitted.
    var isHead = false
    /// Whether the client uses HTTP/1.0, where connections close by default.
    var isOld = false
    /// Whether the connection closes after the response.
    var closes = false
}
