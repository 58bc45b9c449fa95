// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import MartletFoundation
import Testing
import TransferTesting

@Suite("Values as JSON", .timeLimit(.minutes(1)))
struct CodingTests {
    private struct Item: Codable, Equatable, Sendable {
        var id: Int
        var name: String
    }

    private struct Page: Codable, Equatable, Sendable {
        var items: [Item]
    }

    private static let json = [("Content-Type", "application/json; charset=utf-8")]

    @Test("A value is decoded from a GET, which asks for JSON")
    func decoded() async throws {
        let server = try await ScriptedServer.start { _ in
            .response(200, Self.json, text: #"{"items":[{"id":1,"name":"a"}]}"#)
        }
        let harness = try Harness()
        let page = try await harness.session.value(of: Page.self, from: server.text("page"))
        #expect(page.value == Page(items: [Item(id: 1, name: "a")]) && page.status == 200)
        #expect(page.response.response.mediaType == "application/json")
        #expect(server.requests[0].method == "GET" && server.requests[0].values("Accept") == ["application/json"])
        var request = try TransferRequest(server.text("page"))
        request.headers["Accept"] = "application/vnd.example+json"
        _ = try await harness.session.value(of: Page.self, from: request)
        #expect(server.requests[1].values("Accept") == ["application/vnd.example+json"])
    }

    @Test("A decoder's settings apply")
    func decoder() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "[0]") }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        let session = try Harness().session
        let dates = try await session.value(of: [Date].self, from: server.text(""), decoder: decoder)
        #expect(dates.value == [Date(timeIntervalSince1970: 0)])
    }

    @Test("A value is sent as JSON, by POST unless the request has another method", arguments: [nil, "PATCH"])
    func sent(_ method: String?) async throws {
        let server = try await ScriptedServer.start { request in .response(201, Self.json, body: request.body) }
        let harness = try Harness()
        var request = try TransferRequest(server.text("items"))
        if let method { request.method = method }
        let item = Item(id: 7, name: "ä")
        let answer = try await harness.session.value(of: Item.self, sending: item, to: request)
        #expect(answer.value == item && answer.status == 201)
        let received = try #require(server.requests.first)
        #expect(received.method == method ?? "POST" && received.values("Content-Type") == ["application/json"])
        #expect(received.values("Accept") == ["application/json"] && server.requests.count == 1)
    }

    @Test("JSON is an upload's body, too")
    func body() async throws {
        let server = try await ScriptedServer.start { _ in .response(204) }
        let result = try await Harness().session.upload(.json(["a": 1]), to: server.text("items"))
        #expect(result.status == 204 && server.requests[0].method == "POST")
        #expect(server.requests[0].body.text == #"{"a":1}"#)
    }

    @Test("A body that does not fit names URL, status, media type, place and first bytes")
    func misfit() async throws {
        let text = #"{"items":[{"id":1,"name":"a"},{"id":"2","name":"b"}]}"#
        let server = try await ScriptedServer.start { _ in .response(200, Self.json, text: text) }
        let harness = try Harness()
        let error = try #require(
            await #expect(throws: BodyCodingError.self) {
                try await harness.session.value(of: Page.self, from: server.text("page?key=secret"))
            }
        )
        #expect(error.codingPath == "items[1].id" && error.underlyingError is DecodingError)
        #expect(error.response?.text == text && error.url.query == "key=secret")
        let parts = [
            server.text("page: "), "status 200 (application/json, 53 bytes)", "Page at items[1].id", #"{\"id"#,
        ]
        for part in parts {
            #expect(error.description.contains(part), "\(error)")
        }
        #expect(!error.description.contains("secret"))
        #expect((error as any Error).localizedDescription == "The response of the server could not be understood.")
    }

    @Test(
        "A missing key, another format and an empty body are named",
        arguments: [
            (#"{"items":[{"id":1}]}"#, "items[0].name", "the key is missing"), ("<html>\u{1}", "", #"<html>\u{01}"#),
            ("", "", "it is empty"),
        ]
    )
    func reasons(_ body: String, _ path: String, _ reason: String) async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: body) }
        let harness = try Harness()
        let error = await #expect(throws: BodyCodingError.self) {
            try await harness.session.value(of: Page.self, from: server.text("page"))
        }
        let description = error?.description ?? ""
        #expect(error?.codingPath == path && description.contains(reason), "\(description)")
        #expect(description.contains("no media type"))
    }

    @Test("The description of a long body has its first bytes only")
    func long() async throws {
        let page = String(repeating: "x", count: 100_000)
        let server = try await ScriptedServer.start { _ in .response(200, text: page) }
        let harness = try Harness()
        let error = await #expect(throws: BodyCodingError.self) {
            try await harness.session.value(of: Page.self, from: server.text("page"))
        }
        #expect((error?.description.utf8.count ?? .max) < 1000 && error?.response?.body.count == 100_000)
    }

    @Test("A status other than success is an error with the body; accepted, its body is decoded")
    func statuses() async throws {
        let server = try await ScriptedServer.start { _ in .response(422, Self.json, text: #"{"id":3,"name":"why"}"#) }
        let harness = try Harness()
        let error = try await failure {
            try await harness.session.value(of: Page.self, from: server.text("page"))
        }
        #expect(error.code == .httpStatus && error.status == 422)
        #expect(try JSONDecoder().decode(Item.self, from: error.bodyData).name == "why")
        var request = try TransferRequest(server.text("page"))
        request.acceptsAnyStatus = true
        let item = try await harness.session.value(of: Item.self, from: request)
        #expect(item.status == 422 && item.value.name == "why")
        let response = try await harness.session.data(from: request)
        #expect(try response.value(of: Item.self) == item.value)
    }

    @Test("A value that JSON cannot express is not sent")
    func unencodable() async throws {
        let server = try await ScriptedServer.start { _ in .response(200) }
        let harness = try Harness()
        let error = await #expect(throws: BodyCodingError.self) {
            try await harness.session.value(of: Item.self, sending: ["a": [1, Double.nan]], to: server.text("items"))
        }
        #expect(error?.codingPath == "a[1]" && error?.response == nil && error?.underlyingError is EncodingError)
        #expect(server.requests.isEmpty)
    }
}
