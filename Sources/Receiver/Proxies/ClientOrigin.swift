// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The client of a request, as far as trusted proxies report it.
///
/// Pure value.
struct ClientOrigin: Hashable, Sendable {
    /// The numeric address.
    var address: String
    /// Whether the client's connection is encrypted; `nil` if no proxy reports it.
    var isSecure: Bool?
    /// The host, with an optional port, that the client addressed; `nil` if no proxy reports it.
    var host: String?

    /// Evaluates the fields of a request.
    ///
    /// From the last report backwards, each one is believed if the proxy that made it is trusted. A client can send
    /// its own reports, and proxies that use one family of fields pass the other one unchanged. If both are present
    /// and name different clients, neither is believed.
    ///
    /// From proxies on this machine `X-Forwarded-Proto` is believed in any case: a client gains nothing by it.
    ///
    /// - Parameters:
    ///   - fields: The request header fields.
    ///   - peer: The address of the connection.
    ///   - proxies: The trusted proxies.
    init(_ fields: HeaderFields, peer: String, proxies: TrustedProxies) {
        self.address = peer
        guard proxies.contain(peer) else {
            if fields.contains("X-Forwarded-Proto"), ListenAddress.isLoopback(peer) {
                self.isSecure = ForwardedFields.common(fields).last?.isSecure
            }
            return
        }
        let standard = Self.walk(ForwardedFields.standard(fields), peer, proxies)
        let common = Self.walk(ForwardedFields.common(fields), peer, proxies)
        guard let standard, let common else {
            if let found = standard ?? common { self = found }
            return
        }
        guard standard.address == common.address else { return }
        self = standard
        self.isSecure = standard.isSecure ?? common.isSecure
        self.host = standard.host ?? common.host
    }

    private init(address: String) { self.address = address }

    /// Follows the reports of one family; `nil` if there are none.
    private static func walk(_ hops: [ForwardedFields.Hop], _ peer: String, _ proxies: TrustedProxies) -> ClientOrigin?
    {
        guard !hops.isEmpty else { return nil }
        var origin = ClientOrigin(address: peer)
        for hop in hops.reversed() {
            origin.isSecure = hop.isSecure ?? origin.isSecure
            origin.host = hop.host ?? origin.host
            guard let client = hop.client else { break }
            origin.address = client
            guard proxies.contain(client) else { break }
        }
        return origin
    }
}
