// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

@Suite("Links made by requests")
struct ShareRoutesTests {
    private static let list = """
        read          basic  anna:a
        read          basic  ben:b
        read          token  r
        read          token  q
        write         token  w
        all           token  all
        """

    private func fields(_ user: String) -> [(String, String)] {
        switch user {
        case "anna": [("Authorization", "Basic YW5uYTph")]
        case "ben": [("Authorization", "Basic YmVuOmI=")]
        default: [("Authorization", "Bearer \(user)")]
        }
    }

    private func bench(
        _ directory: TemporaryDirectory,
        _ store: TemporaryDirectory,
        _ change: (inout ReceiverConfiguration) -> Void = { _ in }
    ) async throws -> ReceiverBench {
        let credentials = try AccessCredential.list(parsing: Self.list, source: "")
        return try await ReceiverBench(in: directory) {
            $0.linkStore = store.path("a.links")
            $0.credentials = credentials
            change(&$0)
        }
    }

    private func make(
        _ bench: ReceiverBench,
        _ text: String,
        as user: String,
        type: String = "application/json",
        _ more: [(String, String)] = []
    ) throws -> RawClient.Response {
        try bench.request(
            "POST",
            "/.martlet-share",
            self.fields(user) + [("Content-Type", type)] + more,
            body: Array(text.utf8)
        )
    }

    private func path(_ link: String?) throws -> String {
        let link = try #require(link)
        #expect(link.hasPrefix("http://localhost/.martlet-share/"))
        return String(link.dropFirst("http://localhost".count))
    }

    private func links(_ bench: ReceiverBench, _ user: String) throws -> [JSON] {
        let answer = try bench.request("GET", "/.martlet-share", self.fields(user))
        return try JSON(parsing: answer.body)["links"]?.array ?? []
    }

    @Test("have a count and an expiry, and work after a restart")
    func made() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        try directory.write([1, 2, 3], to: "a b")
        var bench = try await self.bench(directory, store)
        let made = try self.make(bench, "{\"path\":\"/a%20b\",\"expires\":1000,\"count\":2}", as: "anna")
        #expect(made.status == 201)
        let json = try JSON(parsing: made.body)
        #expect(json["count"]?.integer == 2 && json["path"]?.string == "/a%20b" && json["expires"]?.string != nil)
        #expect(json["link"]?.string == made.fields["Location"])
        let path = try self.path(made.fields["Location"])
        #expect(try bench.request("GET", path).body == [1, 2, 3])
        await bench.receiver.stop()
        bench = try await self.bench(directory, store)
        #expect(try bench.request("GET", path).body == [1, 2, 3])
        #expect(await bench.eventually { (try? bench.request("GET", path).status) == 410 })
        let listed = try #require(try self.links(bench, "anna").first)
        #expect(listed["downloads"]?.integer == 2 && listed["usable"]?.bool == false)
        // Expired, it is gone as well.
        let brief = try self.make(bench, "{\"path\":\"/a%20b\",\"expires\":1}", as: "anna").fields["Location"]
        let link = try self.path(brief)
        #expect(await bench.eventually { (try? bench.request("GET", link).status) == 410 })
        await bench.receiver.stop()
    }

    @Test("are for those who may read, and each sees and removes those made by the same user")
    func rights() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        try directory.write([1], to: "f")
        let bench = try await self.bench(directory, store)
        let text = "{\"path\":\"/f\"}"
        #expect(try self.make(bench, text, as: "w").status == 403)
        #expect(try self.make(bench, text, as: "wrong").status == 401)
        #expect(try bench.request("GET", "/.martlet-share", self.fields("w")).status == 403)
        let link = try self.path(try self.make(bench, text, as: "anna").fields["Location"])
        #expect(try self.links(bench, "anna").count == 1)
        #expect(try self.links(bench, "all").count == 1)
        #expect(try self.links(bench, "ben").isEmpty)
        // Who has only the link cannot remove it.
        #expect(try bench.request("DELETE", link).status == 401)
        #expect(try bench.request("DELETE", link, self.fields("ben")).status == 404)
        #expect(try bench.request("GET", link).status == 200)
        #expect(try bench.request("DELETE", link, self.fields("anna")).status == 204)
        #expect(try bench.request("GET", link).status == 410)
        // Nameless credentials do not list each other's links; the creator of a link knows it, and can remove it.
        let nameless = try self.path(try self.make(bench, text, as: "r").fields["Location"])
        #expect(try self.links(bench, "q").isEmpty && self.links(bench, "r").isEmpty)
        #expect(try bench.request("DELETE", nameless, self.fields("r")).status == 204)
        let another = try self.path(try self.make(bench, text, as: "anna").fields["Location"])
        #expect(try bench.request("DELETE", another, self.fields("all")).status == 204)
        #expect(try self.links(bench, "anna").allSatisfy { $0["usable"]?.bool == false })
        await bench.receiver.stop()
    }

    @Test("are not made for what is not served, by malformed requests, or by a page elsewhere")
    func refused() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        try directory.write([1], to: "f")
        try directory.write([1], to: ".hidden")
        let bench = try await self.bench(directory, store)
        for (text, status) in [
            ("{\"path\":\"/g\"}", 404), ("{\"path\":\"/.hidden\"}", 404), ("{\"path\":\"/\"}", 404),
            ("{\"path\":\"/../f\"}", 400), ("{\"path\":\"f\"}", 400), ("{}", 400), ("[", 400),
            ("{\"path\":\"/f\",\"count\":0}", 400), ("{\"path\":\"/f\",\"expires\":\"x\"}", 400),
            ("{\"path\":\"/f\",\"expires\":1e30}", 400),
            ("{\"path\":\"/.martlet-uploads/lock\"}", 404), (String(repeating: " ", count: 20_000), 413),
        ] {
            #expect(try self.make(bench, text, as: "all").status == status, "\(text.prefix(60))")
        }
        #expect(try self.make(bench, "{\"path\":\"/f\"}", as: "all", type: "text/plain").status == 415)
        let origin = [("Origin", "https://evil.example")]
        #expect(try self.make(bench, "{\"path\":\"/f\"}", as: "all", origin).status == 403)
        #expect(try bench.request("PUT", "/.martlet-share", self.fields("all"), body: [1]).status == 405)
        #expect(try self.links(bench, "all").isEmpty)
        await bench.receiver.stop()
    }

    @Test("are neither made nor listed where only links are served")
    func withoutDirectory() async throws {
        let directory = try TemporaryDirectory()
        try directory.write([1], to: "f")
        let bench = try await ReceiverBench {
            $0.directory = nil
            $0.shares = [ShareOffer(path: directory.path("f"))]
        }
        let link = try #require(bench.receiver.sharePaths.first)
        for method in ["GET", "POST", "DELETE"] {
            #expect(try bench.request(method, "/.martlet-share", body: method == "POST" ? [] : nil).status == 404)
        }
        #expect(try bench.request("DELETE", link).status == 404)
        #expect(try bench.request("GET", link).status == 200)
        await bench.receiver.stop()
    }

    @Test("of the command line are neither listed nor removed by requests")
    func offered() async throws {
        let directory = try TemporaryDirectory()
        try directory.write([1], to: "f")
        let bench = try await ReceiverBench { $0.shares = [ShareOffer(path: directory.path("f"))] }
        let link = try #require(bench.receiver.sharePaths.first)
        #expect(try !bench.request("GET", "/.martlet-share").text.contains(".martlet-share"))
        #expect(try bench.request("DELETE", link).status == 404)
        #expect(try bench.request("GET", link).status == 200)
        await bench.receiver.stop()
    }

    @Test("refuse a file that was changed since")
    func changed() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        try directory.write([1], to: "f")
        let bench = try await self.bench(directory, store)
        let link = try self.path(try self.make(bench, "{\"path\":\"/f\"}", as: "all").fields["Location"])
        #expect(try bench.request("GET", link).body == [1])
        try directory.write([1, 2], to: "f")
        #expect(try bench.request("GET", link).status == 410)
        await bench.receiver.stop()
    }
}
