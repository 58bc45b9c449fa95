// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing
import TransferCore
import TransferEngine
import TransferTesting

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@testable import MartletSystemTransport

@Suite("Heads, requests and errors of URLSession")
struct TranslationTests {
    private static func head(
        _ status: Int,
        _ fields: [String: String],
        method: String = "GET",
        acceptsCoding: Bool = false
    ) -> Result<ResponseHead, TransportError> {
        ResponseTranslation.head(
            ReportedHead(status: status, fields: fields),
            method: method,
            acceptsCoding: acceptsCoding
        )
    }

    @Test("the framing is that of the fields") func framing() throws {
        #expect(try Self.head(200, ["content-length": "5"]).get().framing == .length(5))
        #expect(try Self.head(200, ["Content-Length": "5, 5"]).get().framing == .length(5))
        #expect(try Self.head(200, ["Transfer-Encoding": "chunked", "Content-Length": "5"]).get().framing == .chunked)
        #expect(try Self.head(200, [:]).get().framing == .untilClose)
        #expect(try Self.head(200, ["Content-Length": "5"], method: "HEAD").get().framing == .none)
        #expect(try Self.head(304, ["Content-Length": "5"]).get().framing == .none)
        for invalid in ["", "5, 6", "-1", "5x", "99999999999999999999"] {
            #expect(throws: TransportError.self) { try Self.head(200, ["Content-Length": invalid]).get() }
        }
        #expect(throws: TransportError.self) { try Self.head(99, [:]).get() }
        #expect(throws: TransportError.self) { try Self.head(200, ["X\n": "a"]).get() }
    }

    @Test("coded content fails unless the program requested it; then only what is true of it remains") func codings()
        throws
    {
        let fields = [
            "Content-Encoding": "gzip", "Content-Length": "5", "ETag": "\"1\"", "Repr-Digest": "sha-256=:aaaa:",
            "Content-Type": "text/plain", "Accept-Ranges": "bytes",
        ]
        #expect(throws: TransportError.self) { try Self.head(200, fields).get() }
        #expect(throws: TransportError.self) { try Self.head(206, fields, acceptsCoding: true).get() }
        let decoded = try Self.head(200, fields, acceptsCoding: true).get()
        #expect(decoded.fields.map(\.name) == ["Content-Type"] && decoded.framing == .untilClose)
        // An error's page is not stored.
        #expect(try Self.head(404, fields).get().fields["Content-Encoding"] == nil)
        #expect(try Self.head(200, fields, method: "HEAD").get().fields["Content-Encoding"] == "gzip")
        #expect(
            try Self.head(200, ["Content-Encoding": "identity", "Content-Length": "5"]).get().framing == .length(5)
        )
    }

    @Test(
        "joined cookies are separated, and not at the comma of a date",
        arguments: [
            ("a=b", ["a=b"]),
            (
                "a=b, c=d; Expires=Wed, 21 Oct 2026 07:28:00 GMT, e=f",
                [
                    "a=b", "c=d; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "e=f",
                ]
            ),
            ("a=1,2; Path=/, b=; Max-Age=3", ["a=1,2; Path=/", "b=; Max-Age=3"]),
        ]
    )
    func cookies(joined: String, separated: [String]) {
        #expect(ResponseTranslation.cookies(joined) == separated)
        #expect(ResponseTranslation.fields(["Set-Cookie": joined])?.values("set-cookie") == separated)
    }

    @Test("a request has its own fields and no others of the system") func request() throws {
        var request = ExchangeRequest(
            url: try HTTPURL("https://user:secret@example.org/a%20b?c=%5B1%5D"),
            fields: ["Range": "bytes=5-", "Content-Length": "7", "Connection": "close", "X-A": "1"],
            connectTimeout: 1
        )
        var system = try URLRequest(request)
        #expect(system.url?.absoluteString == "https://example.org/a%20b?c=%5B1%5D" && !system.httpShouldHandleCookies)
        #expect(
            system.allHTTPHeaderFields == ["Range": "bytes=5-", "X-A": "1", "Accept-Encoding": "identity"]
        )
        #expect(!request.acceptsCoding)
        request.fields["Accept-Encoding"] = "gzip, identity;q=0.5"
        system = try URLRequest(request)
        #expect(system.value(forHTTPHeaderField: "Accept-Encoding") == "gzip, identity;q=0.5" && request.acceptsCoding)
    }

    @Test(
        "an error of the system has a cause",
        arguments: [
            (NSURLErrorTimedOut, TransportError.Code.connectTimeout), (NSURLErrorCannotFindHost, .unknownName),
            (NSURLErrorNotConnectedToInternet, .unreachable), (NSURLErrorCannotConnectToHost, .refused),
            (NSURLErrorNetworkConnectionLost, .broken),
            (NSURLErrorServerCertificateUntrusted, .certificateUnknownAuthority),
            (NSURLErrorServerCertificateHasBadDate, .certificateExpired), (NSURLErrorSecureConnectionFailed, .tls),
            (-1022, .proxySettings), (NSURLErrorCannotWriteToFile, .localResource), (-1, .broken), (424242, .broken),
        ]
    )
    func errors(code: Int, expected: TransportError.Code) throws {
        let origin = try HTTPURL("https://example.org/").origin
        let error = TransportError(NSError(domain: NSURLErrorDomain, code: code), from: origin, hasHead: false)
        #expect(error.code == expected && error.peer == origin && !error.message.isEmpty)
        let late = TransportError(NSError(domain: NSURLErrorDomain, code: -1), from: origin, hasHead: true)
        #expect(late.code == .truncated)
    }
}
