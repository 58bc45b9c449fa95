// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import TransferCore
internal import TransferEngine

extension URLRequest {
    /// The fields that are the system's own, or would break the framing.
    private static let unsentFields: Set<String> = [
        "connection", "content-length", "transfer-encoding", "proxy-connection", "proxy-authorization",
    ]

    /// Creates the system's request for one of the engine, without its content.
    ///
    /// - Throws: `TransportError` if the system cannot send it as it is.
    init(_ request: ExchangeRequest) throws(TransportError) {
        let text = request.url.withoutUserInfo
        // Another text would be another target.
        guard let url = URL(string: text), url.absoluteString == text else {
            throw TransportError(.malformed, "the system does not accept the URL \(request.url.redacted)")
        }
        guard request.addresses == nil else {
            throw TransportError(.addressDenied, "the system does not report addresses, so that none can be denied")
        }
        // The engine has the timeouts: this one is out of the way.
        self.init(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 7 * 86_400)
        self.httpMethod = request.method
        self.httpShouldHandleCookies = false
        for (name, value) in request.fields where !Self.unsentFields.contains(name.lowercased()) {
            self.addValue(value, forHTTPHeaderField: name)
        }
        if !request.fields.contains("Accept-Encoding") {
            self.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
    }
}

extension ExchangeRequest {
    /// Whether the program itself has requested a coding of the content.
    var acceptsCoding: Bool {
        let codings = (self.fields.joined("Accept-Encoding") ?? "").split(separator: ",")
        return codings.contains { $0.split(separator: ";").first?.filter { $0 != " " }.lowercased() != "identity" }
    }
}
