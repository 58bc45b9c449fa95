// SPDX-License-Identifier: Apache-2.0
/// The source of a response: the network or the cache.
public enum ResponseSource: Sendable, Hashable {
    /// The server, or a proxy.
    case network
    /// The response cache; the server was not contacted, or could not be reached.
    case cache
    /// The response cache, after the server has confirmed that the stored response is current (304).
    case validated
}
