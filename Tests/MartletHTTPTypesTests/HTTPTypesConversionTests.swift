// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Martlet
import MartletHTTPTypes
import Testing

@Suite("Values of swift-http-types")
struct HTTPTypesConversionTests {
    private static let link = HTTPField.Name("Link")

    /// A request that can be sent, after a change.
    private func request(_ change: (inout HTTPRequest) -> Void = { _ in }) -> HTTPRequest {
        var request = HTTPRequest(method: .get, scheme: "http", authority: "example.org:81", path: "/a%20b?c=d")
        change(&request)
        return request
    }

    @Test("A request keeps its method, URL and fields in both directions")
    func roundTrip() throws {
        let name = try #require(HTTPField.Name("X-Part"))
        let original = self.request { request in
            request.method = .patch
            request.headerFields = [name: "1", .accept: "text/plain", name: "2"]
        }
        let made = try TransferRequest(original)
        #expect(made.method == "PATCH" && made.url.withoutUserInfo == "http://example.org:81/a%20b?c=d")
        #expect(made.headers.map { "\($0.name): \($0.value)" } == ["X-Part: 1", "Accept: text/plain", "X-Part: 2"])
        #expect(try HTTPRequest(made) == original)
    }

    @Test("A request's conditions and referer are fields, and its user information is not part of the authority")
    func conditions() throws {
        var request = try TransferRequest("https://me:secret@example.org/a").ifNoneMatch("\"x\"").ifModified(since: 0)
        request.referer = try HTTPURL("https://example.org/start")
        let made = try HTTPRequest(request)
        #expect(made.scheme == "https" && made.authority == "example.org" && made.path == "/a")
        #expect(made.headerFields[.ifNoneMatch] == "\"x\"")
        #expect(made.headerFields[.ifModifiedSince] == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(made.headerFields[.referer] == "https://example.org/start")
    }

    @Test("A method that is not a token is not a request")
    func badMethod() throws {
        var request = try TransferRequest("https://example.org/")
        request.method = "GET /"
        #expect(throws: TransferError.self) { try HTTPRequest(request) }
    }

    @Test("The parts of a split cookie are one field, and no other fields are joined")
    func cookies() {
        var fields = HTTPFields()
        fields[.cookie] = "a=1; b=2"
        fields.append(HTTPField(name: .accept, value: "x"))
        fields.append(HTTPField(name: .cookie, value: "c=3"))
        fields.append(HTTPField(name: .accept, value: "y"))
        #expect(fields.count == 5)
        let made = HeaderFields(fields).map { "\($0.name): \($0.value)" }
        #expect(made == ["Cookie: a=1; b=2; c=3", "Accept: x", "Accept: y"])
        let several: HeaderFields = ["Set-Cookie": "a=1; Expires=Thu, 01 Jan 2026 00:00:00 GMT", "Set-Cookie": "b=2"]
        #expect(HTTPFields(several)[values: .setCookie].count == 2)
    }

    @Test("The bytes of a value that is not UTF-8 are kept")
    func bytes() {
        let (name, value): ([UInt8], [UInt8]) = (Array("Server".utf8), [0x63, 0xE9])
        var headers = HeaderFields()
        name.withUnsafeBytes { name in value.withUnsafeBytes { headers.append(name: name, value: $0) } }
        let field = HTTPFields(headers)[fields: .server].first
        #expect(field?.withUnsafeBytesOfValue { Array($0) } == value)
    }

    @Test("More fields than the type accepts are left out, instead of a trap")
    func tooMany() {
        var headers = HeaderFields()
        for _ in 0..<70_000 { headers.append("a", "") }
        #expect(HTTPFields(headers).count == 65_534)
    }

    @Test("A request that cannot be sent is refused with the part that is wrong")
    func refusals() throws {
        let cases: [(String, TransferError.Code, (inout HTTPRequest) -> Void)] = [
            ("scheme", .badURL, { $0.scheme = nil }),
            ("scheme", .badURL, { $0.scheme = "" }),
            ("authority", .badURL, { $0.authority = nil }),
            ("path", .badURL, { $0.path = nil }),
            ("authority", .badURL, { $0.authority = "example.org/other?" }),
            ("path", .badURL, { ($0.method, $0.path) = (.options, "*") }),
            ("path", .badURL, { $0.path = "/a#b" }),
            ("ftp", .badURL, { $0.scheme = "ftp" }),
            ("CONNECT", .badRequest, { $0.method = .connect }),
            ("CONNECT", .badRequest, { $0.extendedConnectProtocol = "websocket" }),
        ]
        for (word, code, change) in cases {
            let error = #expect(throws: TransferError.self, "\(word)") { try TransferRequest(self.request(change)) }
            #expect(error?.code == code && error?.message.contains(word) == true, "\(error?.description ?? word)")
        }
    }
}
