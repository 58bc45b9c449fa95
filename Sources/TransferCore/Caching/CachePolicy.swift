// SPDX-License-Identifier: Apache-2.0
/// How the response cache is used for a data task.
public enum CachePolicy: String, Sendable, Hashable, CaseIterable {
    /// Use a stored response while it is fresh, and validate it with the server when it is stale (RFC 9111).
    case useProtocolCachePolicy
    /// Request the resource from the server; the response is stored.
    case reloadIgnoringCache
    /// Use a stored response regardless of its age; request the resource if none is stored.
    case returnCacheElseLoad
    /// Use a stored response regardless of its age; fail if none is stored.
    case returnCacheOnly
}
