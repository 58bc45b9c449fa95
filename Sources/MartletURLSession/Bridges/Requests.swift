// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import Martlet
internal import MartletFoundation

extension URLRequest {
    /// Martlet's request, without a body.
    ///
    /// - Throws: `URLError` with `badURL` or `unsupportedURL`.
    func transferRequest() throws -> TransferRequest {
        guard let url = self.url else { throw URLError.about(.unsupportedURL, nil, "the request has no URL") }
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw URLError.about(.unsupportedURL, url, "only http and https are supported: \(url.absoluteString)")
        }
        var request: TransferRequest
        do {
            request = try TransferRequest(url)
        } catch {
            throw URLError.about(.badURL, url, error.description)
        }
        request.method = self.httpMethod ?? "GET"
        for (name, value) in (self.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            // The length is that of the body.
            if name.lowercased() != "content-length" { request.headers.append(name, value) }
        }
        // 60 is the default of a request: then the session's timeout applies.
        if self.timeoutInterval != 60 {
            request.requestTimeout = URLSessionConfiguration.duration(self.timeoutInterval)
        }
        request.acceptsAnyStatus = true
        return request
    }

    /// The request that follows a redirect: the fields for one origin and those about the content do not always follow.
    func following(_ redirect: Redirect) -> URLRequest {
        var next = self
        next.url = URL(redirect.url)
        if redirect.method != self.httpMethod ?? "GET" {
            next.httpMethod = redirect.method
            next.httpBody = nil
            next.httpBodyStream = nil
            for name in ["Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding"] {
                next.setValue(nil, forHTTPHeaderField: name)
            }
        }
        if redirect.isToAnotherOrigin {
            for name in ["Authorization", "Cookie", "Host"] { next.setValue(nil, forHTTPHeaderField: name) }
        }
        return next
    }
}

extension TransferResponse {
    /// Foundation's response; `nil` if Foundation does not accept it.
    var urlResponse: HTTPURLResponse? {
        guard let url = URL(self.url) else { return nil }
        var fields: [String: String] = [:]
        for (name, value) in self.headers {
            let known = fields.keys.first { $0.lowercased() == name.lowercased() } ?? name
            fields[known] = fields[known].map { "\($0), \(value)" } ?? value
        }
        return HTTPURLResponse(url: url, statusCode: self.status, httpVersion: "HTTP/1.1", headerFields: fields)
    }
}
