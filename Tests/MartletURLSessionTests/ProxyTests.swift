// SPDX-License-Identifier: Apache-2.0
import Foundation
import MartletURLSession
import Testing
import TransferTesting

@Suite("connectionProxyDictionary of MartletURLSession", .timeLimit(.minutes(1)))
struct ProxyTests {
    /// The error of a task whose session has these proxies.
    private static func error(_ proxies: [AnyHashable: Any]) async throws -> URLError {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = proxies
        let session = URLSession(configuration: configuration)
        let url = try #require(URL(string: "http://files.invalid/a"))
        let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
        return try #require(error)
    }

    @Test("credentials of the proxy are sent to it")
    func credentials() async throws {
        let proxy = try await ScriptedServer.start { request in
            request["Proxy-Authorization"] == nil ? .response(407) : .response(200, text: request.target)
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = [
            "HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": proxy.port, "kCFProxyUsernameKey": "Ann",
            "kCFProxyPasswordKey": "secret",
        ]
        let session = URLSession(configuration: configuration)
        let url = try #require(URL(string: "http://files.invalid/a"))
        let (data, _) = try await session.data(from: url)
        #expect(String(decoding: data, as: UTF8.self) == "http://files.invalid/a")
        #expect(proxy.requests.first?["Proxy-Authorization"] == "Basic QW5uOnNlY3JldA==")
    }

    @Test("a scheme without a proxy is requested directly, as with an empty dictionary")
    func direct() async throws {
        let server = try await ScriptedServer.start { .response(200, text: $0.target) }
        for proxies: [AnyHashable: Any] in [[:], ["HTTPEnable": false, "HTTPProxy": "proxy.invalid"]] {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.connectionProxyDictionary = proxies
            let url = try #require(URL(string: server.text("a")))
            let (data, _) = try await URLSession(configuration: configuration).data(from: url)
            #expect(String(decoding: data, as: UTF8.self) == "/a")
        }
    }

    @Test(
        "proxies that cannot be used fail every task with the key",
        arguments: [
            ("SOCKSEnable", ["SOCKSEnable": 1, "SOCKSProxy": "127.0.0.1"]),
            ("ProxyAutoConfigEnable", ["ProxyAutoConfigEnable": true]),
            ("HTTPProxy", ["HTTPEnable": 1]),
            ("HTTPPort", ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": 70_000]),
            ("HTTPSEnable", ["HTTPSEnable": "perhaps"]),
            ("'HttpProxy'", ["HttpProxy": "127.0.0.1"]),
            ("ExceptionsList", ["ExceptionsList": "localhost"]),
            ("'10.0.0.0/40'", ["ExceptionsList": ["10.0.0.0/40"]]),
            ("HTTPProxy", ["HTTPEnable": 1, "HTTPProxy": "a b"]),
        ] as [(String, [String: any Sendable])]
    )
    func unusable(key: String, proxies: [String: any Sendable]) async throws {
        let error = try await Self.error(proxies)
        #expect((error as NSError).localizedFailureReason?.contains(key) == true, "\(error)")
    }
}
