// SPDX-License-Identifier: Apache-2.0
import Control
import HTTPTransport
import Martlet
import Testing
import TransferCore
@testable import TransferEngine

@Suite("A configuration on its way to the daemon", .timeLimit(.minutes(1)))
struct ConfigurationCodingTests {
    /// A configuration with nothing in it as by default.
    private static func full() throws -> SessionConfiguration {
        var configuration = SessionConfiguration.ephemeral
        configuration.headers = ["User-Agent": "test/1", "X-A": "ü\"\\"]
        configuration.cookies?
            .set(
                try Cookie(
                    name: "a",
                    value: "b",
                    domain: ".example.com",
                    path: "/p",
                    expires: 4_000_000_000,
                    isSecure: true,
                    created: 5
                )
            )
        configuration.cookies?.set(try Cookie(name: "c", value: "d", domain: "example.com", created: 6))
        configuration.cookieAcceptance = .onlyFromFirstHost
        let url = try HTTPURL("https://example.com:8443/")
        configuration.credentials.set(.password(user: "u", password: "p"), for: url, realm: "r")
        configuration.credentials.set(.bearer("t"), for: url)
        configuration.concurrentTransfers = 3
        configuration.connectionsPerHost = 2
        configuration.connectionsPerDownload = 1
        configuration.rateLimit = 1000
        configuration.connectTimeout = .milliseconds(1500)
        configuration.requestTimeout = .seconds(7)
        configuration.resourceTimeout = .seconds(70)
        configuration.outageTimeout = .seconds(80)
        configuration.retries.attempts = 9
        configuration.retries.statuses = [500, 599]
        configuration.tls.roots = .systemAnd(.file("/a/ca.pem"))
        configuration.tls.verification = .noHostname
        configuration.tls.clientCertificate = .init(chain: .file("/a/c"), key: .bytes(Array("k".utf8)), passphrase: "w")
        configuration.tls.minimumVersion = .tls13
        configuration.tls.pins = [try .init(sha256: Array(repeating: 7, count: 32), host: "h")]
        configuration.proxy = try .server("https://n:s@proxy:99", except: "a.example, 10.0.0.0/8")
        configuration.maximumRedirects = 4
        configuration.allowsDowngrade = true
        configuration.allowsExpensiveNetwork = false
        var discretion = Discretion()
        discretion.allowedHours = [22..<24, 0..<6]
        discretion.requiresMainsPower = false
        discretion.rateCeiling = 5
        configuration.discretion = discretion
        configuration.isDurable = true
        configuration.wakeCommand = ["/bin/true", "x"]
        configuration.notifications = [.failed, .allDone]
        return configuration
    }

    @Test("comes out as it went in, through its text")
    func roundTrip() throws {
        let before = try Self.full()
        let after = try SessionConfiguration(json: JSON(parsing: before.json.text))
        #expect(after.headers.map(\.value) == before.headers.map(\.value))
        #expect(
            after.cookies?.cookies.sorted { $0.name < $1.name } == before.cookies?.cookies.sorted { $0.name < $1.name }
        )
        #expect(after.cookieAcceptance == .onlyFromFirstHost)
        let url = try HTTPURL("https://example.com:8443/")
        for realm in ["r", nil, "other"] {
            let space = ProtectionSpace(origin: url.origin, realm: realm)
            #expect(after.credentials.credential(for: space) == before.credentials.credential(for: space))
        }
        #expect(after.concurrentTransfers == 3)
        #expect(after.connectionsPerHost == 2)
        #expect(after.connectionsPerDownload == 1)
        #expect(after.rateLimit == 1000)
        #expect(after.connectTimeout == .milliseconds(1500))
        #expect(after.requestTimeout == .seconds(7))
        #expect(after.outageTimeout == .seconds(80))
        #expect(after.resourceTimeout == .seconds(70))
        #expect(after.retries == before.retries)
        #expect(after.tls == before.tls)
        #expect(after.proxy == before.proxy)
        #expect(after.maximumRedirects == 4)
        #expect(after.allowsDowngrade)
        #expect(!after.allowsExpensiveNetwork)
        #expect(after.discretion == before.discretion)
        #expect(after.isDurable)
        #expect(after.wakeCommand == ["/bin/true", "x"])
        #expect(after.notifications == [.failed, .allDone])
    }

    @Test("a notification that only a newer version knows is left out")
    func unknownNotification() throws {
        let configuration = try SessionConfiguration(json: ["notifications": ["paused", "finished"]])
        #expect(configuration.notifications == [.finished])
    }

    @Test("every member may be missing")
    func empty() throws {
        let configuration = try SessionConfiguration(json: [:])
        #expect(configuration.json["retries"] == SessionConfiguration.default.json["retries"])
        #expect(configuration.cookies == nil)
        #expect(configuration.proxy == .none)
    }

    @Test(
        "what cannot be is refused",
        arguments: [
            "[]", #"{"headers":[["a"]]}"#, #"{"concurrentTransfers":-1}"#, #"{"connectTimeout":"x"}"#,
            #"{"cookies":[{}]}"#, #"{"credentials":[{"host":"h"}]}"#, #"{"tls":{"verification":"maybe"}}"#,
            #"{"tls":{"pins":[{"sha256":"AA=="}]}}"#, #"{"proxy":{"http":{"host":"h"}}}"#,
            #"{"discretion":{"allowedHours":[[5,3]]}}"#, #"{"resourceTimeout":1e300}"#, #"{"wakeCommand":[1]}"#,
            #"{"notifications":[1]}"#,
        ]
    )
    func refused(_ text: String) throws {
        let json = try JSON(parsing: text)
        let error = #expect(throws: TransferError.self) { try SessionConfiguration(json: json) }
        #expect(error?.code == .badConfiguration)
    }

    @Test("relative paths become absolute, for the daemon works elsewhere")
    func paths() throws {
        var configuration = SessionConfiguration.ephemeral
        configuration.tls.roots = .pemFile("ca.pem")
        let path = try #require(configuration.json["tls"]?["roots"]?["only"]?["file"]?.string)
        #expect(path.hasPrefix("/") && path.hasSuffix("/ca.pem"))
    }

    @Test("a challenge is answered from the credentials without a task behind the transfer")
    func challengeWithoutTask() throws {
        let url = try HTTPURL("http://example.com/x")
        var configuration = SessionConfiguration.ephemeral
        configuration.credentials.set(.password(user: "u", password: "p"), for: url)
        let policy = SessionPolicy(configuration)
        let request = RequestFacts(
            id: TransferID(1),
            userInfo: "the daemon's own",
            method: "GET",
            url: url,
            source: url,
            refusals: 0
        )
        let head = ResponseHead(status: 401, fields: ["WWW-Authenticate": "Basic realm=\"r\""], framing: .none)
        let first = policy.decide(.challenge(head), about: request) { _ in }
        guard case .repeat = first else {
            Issue.record("the challenge was not answered: \(String(describing: first))")
            return
        }
        #expect(policy.fields(for: request).contains { $0 == ("Authorization", "Basic dTpw") })
        // Refused: no delegate remains to decide.
        guard case .proceed = policy.decide(.challenge(head), about: request, later: { _ in }) else {
            Issue.record("a refused credential was sent again")
            return
        }
    }
}
