// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer
@testable import Receiver

@Suite("Links with a password")
struct LinkPasswordTests {
    private static let page = [("Accept", "text/html")]
    private static let form = [("Content-Type", "application/x-www-form-urlencoded")]
    private static let prefix = "http://localhost"

    /// A receiver with a link that has the password `p w`, and the link's path.
    private func bench(
        count: Int? = nil,
        base: String = "",
        _ change: (inout ReceiverConfiguration) -> Void = { _ in }
    ) async throws -> (ReceiverBench, String) {
        let bench = try await ReceiverBench { configuration in
            configuration.passwordRounds = 10
            configuration.basePath = base
            change(&configuration)
        }
        try bench.directory.write(Array("the content".utf8), to: "secret name.txt")
        let limit = count.map { ", \"count\": \($0)" } ?? ""
        let made = try bench.request(
            "POST",
            base + "/.martlet-share",
            [("Content-Type", "application/json")],
            body: Array("{\"path\": \"/secret%20name.txt\", \"password\": \"p w\"\(limit)}".utf8)
        )
        #expect(made.status == 201)
        let json = try JSON(parsing: made.body)
        #expect(json["password"]?.bool == true)
        let link = try #require(json["link"]?.string)
        #expect(json["qr"]?.string == String(link.dropLast()) + "?qr")
        return (bench, String(link.dropFirst(Self.prefix.count)))
    }

    private func basic(_ password: String) -> [(String, String)] {
        [("Authorization", "Basic " + Base64.encode(Array("any:\(password)".utf8)))]
    }

    @Test("A hash is that of known vectors, RFC 7914's included, and is stored with its salt")
    func hashes() throws {
        let one = PasswordHash.derive(Array("passwd".utf8), salt: Array("salt".utf8), rounds: 1)
        #expect(Hexadecimal.encode(one) == "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc")
        // Computed by Python's hashlib.
        let many = PasswordHash.derive(Array("password".utf8), salt: Array("salt".utf8), rounds: 4096)
        #expect(Hexadecimal.encode(many) == "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a")
        let hash = PasswordHash("ä", rounds: 3)
        let read = try #require(PasswordHash(text: hash.text))
        #expect(read == hash)
        #expect(read.accepts("ä"))
        #expect(!read.accepts("a"))
        #expect(PasswordHash("ä", rounds: 3) != hash)
        for wrong in ["", "$$$", "pbkdf2-sha256$0$00$00", hash.text.replacing("sha256", with: "sha1"), hash.text + "$"]
        {
            #expect(PasswordHash(text: wrong) == nil, "\(wrong)")
        }
    }

    @Test("No wrong password is accepted, by whatever bytes the hashes have in common")
    func wrongPasswords() {
        for salt in 0..<4 {
            let hash = PasswordHash("p w", rounds: 1)
            #expect(hash.accepts("p w"))
            let accepted = (0..<2_000).filter { hash.accepts("wrong \($0)") }
            #expect(accepted.isEmpty, "with salt \(salt): \(accepted)")
        }
    }

    @Test("Nothing of the file is sent before the password, not even its name")
    func hidden() async throws {
        let (bench, link) = try await self.bench()
        #expect(!link.contains("secret"))
        for path in [link, String(link.dropLast()), link + "secret%20name.txt", link + "wrong"] {
            for fields in [[], Self.page, [("User-Agent", "WhatsApp/2")], self.basic("wrong")] {
                for method in ["GET", "HEAD"] {
                    let response = try bench.request(method, path, fields)
                    #expect(response.status == 401, "\(path)")
                    #expect(!response.text.contains("secret") && !response.text.contains("the content"))
                    #expect(!response.fields.contains { $0.value.contains("secret") })
                }
            }
        }
        #expect(try bench.request("GET", link, Self.page).fields["WWW-Authenticate"] == "Bearer realm=\"martlet link\"")
        #expect(try bench.request("GET", link).fields["WWW-Authenticate"]?.hasPrefix("Basic ") == true)
    }

    @Test("The password by Basic gets the file, and counts as other downloads do")
    func basics() async throws {
        let (bench, link) = try await self.bench(count: 1)
        let response = try bench.request("GET", link, self.basic("p w"))
        #expect(response.text == "the content")
        #expect(response.fields["Content-Disposition"] == "attachment; filename*=UTF-8''secret%20name.txt")
        let other = try RawClient(port: bench.receiver.address.port, from: 2)
        #expect(try other.request("GET", link, self.basic("p w")).status == 410)
        #expect(try other.request("GET", link).status == 401)
    }

    @Test("The form gives a cookie for this link, which its name is part of")
    func forms() async throws {
        let (bench, link) = try await self.bench(base: "/files")
        let wrong = try bench.request("POST", link, Self.form, body: Array("password=no".utf8))
        #expect(wrong.status == 403)
        #expect(!wrong.fields.contains("Set-Cookie"))
        let opened = try bench.request("POST", link, Self.form, body: Array("password=p+w".utf8))
        #expect(opened.status == 303)
        let location = try #require(opened.fields["Location"])
        #expect(location == link + "secret%20name.txt")
        let field = try #require(opened.fields["Set-Cookie"])
        #expect(field.contains("; Path=\(link); ") && field.contains("HttpOnly") && field.contains("SameSite=Strict"))
        let cookie = ("Cookie", String(field.prefix { $0 != ";" }))
        #expect(try bench.request("GET", location, [cookie]).text == "the content")
        // Not for another link of the same file.
        let made = try bench.request(
            "POST",
            "/files/.martlet-share",
            [("Content-Type", "application/json")],
            body: Array(#"{"path": "/secret%20name.txt", "password": "p w"}"#.utf8)
        )
        let other = try #require(try JSON(parsing: made.body)["link"]?.string).dropFirst(Self.prefix.count)
        #expect(try bench.request("GET", String(other), [cookie]).status == 401)
    }

    @Test("Guesses are delayed")
    func guesses() async throws {
        let clock = ManualInstant()
        let (bench, link) = try await self.bench { $0.clock = clock.read }
        for number in 0..<GuessLimiter.free {
            #expect(try bench.request("GET", link, self.basic("\(number)")).status == 401)
        }
        #expect(try bench.request("GET", link, self.basic("p w")).status == 429)
        #expect(try bench.request("POST", link, Self.form, body: Array("password=p+w".utf8)).status == 429)
        clock.advance(by: GuessLimiter.interval)
        for _ in 0..<3 { #expect(try bench.request("GET", link, self.basic("p w")).status == 200) }
        #expect(try bench.request("GET", link, self.basic("7")).status == 401)
        #expect(try bench.request("GET", link, self.basic("p w")).status == 429)
        // The link of another address works.
        let other = try RawClient(port: bench.receiver.address.port, from: 3)
        #expect(try other.request("GET", link, self.basic("p w")).text == "the content")
    }

    @Test("An image with the QR code is for everybody who knows the link, and does not count")
    func images() async throws {
        let (bench, link) = try await self.bench(count: 1)
        for _ in 0..<3 {
            let image = try bench.request("GET", String(link.dropLast()) + "?qr")
            #expect(image.status == 200)
            #expect(image.fields["Content-Type"] == "image/svg+xml")
            #expect(image.text == QRCode(Self.prefix + link)?.svg)
        }
        #expect(try bench.request("GET", "/.martlet-share/0123?qr").status == 404)
        #expect(try bench.request("GET", link, self.basic("p w")).status == 200)
    }

    @Test("The same file with the same password keeps its link over restarts; another password makes a new one")
    func offers() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array("x".utf8), to: "f")
        func path(_ password: String?) async throws -> String {
            let bench = try await ReceiverBench(in: directory) { configuration in
                configuration.linkStore = directory.path("store.links")
                configuration.passwordRounds = 10
                configuration.shares = [ShareOffer(path: directory.path("f"), password: password)]
            }
            let path = try #require(bench.receiver.sharePaths.first)
            await bench.receiver.stop()
            return path
        }
        let first = try await path("one")
        #expect(try await path("one") == first)
        let second = try await path("two")
        #expect(second != first)
        let open = try await path(nil)
        #expect(open.hasSuffix("/f"))
        #expect(try await path("two") != open)
        let stored = String(decoding: try directory.read("store.links"), as: UTF8.self)
        #expect(!stored.contains("\"one\"") && !stored.contains("\"two\""))
    }

    @Test("A password is a non-empty text")
    func offered() {
        for wrong in ["\"\"", "1", "[]", "\"\(String(repeating: "a", count: 1025))\""] {
            #expect(throws: UploadRefusal.self) {
                try LinkOffer(parsing: Array("{\"path\": \"/f\", \"password\": \(wrong)}".utf8))
            }
        }
    }
}
