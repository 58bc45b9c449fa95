// SPDX-License-Identifier: Apache-2.0
import Logging
import Martlet

enum Sessions {
    static func make() throws {
        // snippet: session-make
        var configuration = SessionConfiguration.default
        configuration.headers = ["User-Agent": "photos/2.1", "Accept-Language": "en"]
        configuration.concurrentTransfers = 4
        configuration.connectionsPerHost = 2
        configuration.requestTimeout = .seconds(20)
        configuration.resourceTimeout = .seconds(3600)
        configuration.retries.attempts = 5
        configuration.rateLimit = 2 << 20
        configuration.logger = Logger(label: "photos.transfers")
        let session = try TransferSession(configuration: configuration)
        session.rateLimit = nil
        // end
    }

    static func tls() throws {
        // snippet: session-tls
        var configuration = SessionConfiguration.ephemeral
        configuration.tls.roots = .systemAnd(.file("/etc/acme/authority.pem"))
        configuration.tls.minimumVersion = .tls13
        configuration.tls.clientCertificate = .init(chain: .file("client.pem"), key: .file("client.key"))
        configuration.tls.pins = [
            try .init("sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", host: "*.example.org")
        ]
        let session = try TransferSession(configuration: configuration)
        // end
        _ = session
    }

    static func proxy() throws {
        // snippet: session-proxy
        var configuration = SessionConfiguration.default
        configuration.proxy = .custom(
            ProxySettings(
                try ProxyServer("http://user:password@proxy.example.com:3128"),
                exceptions: ProxyExceptions("localhost, .example.com, 10.0.0.0/8")
            )
        )
        // end
        _ = configuration
    }

    static func discretion() {
        // snippet: session-discretion
        var configuration = SessionConfiguration.default
        var discretion = Discretion()
        discretion.allowedHours = [22..<24, 0..<6]
        discretion.rateCeiling = 512 << 10
        configuration.discretion = discretion
        configuration.allowsExpensiveNetwork = false
        // end
        _ = configuration
    }

    // snippet: session-conditions
    struct AlwaysAtHome: SystemConditions {
        var isOnBattery: Bool { false }
        var isNetworkExpensive: Bool { false }
    }
    // end

    static func end(_ session: TransferSession) async {
        // snippet: session-end
        for task in await session.tasks().download { print(task.id, task.state) }
        session.finishTasksAndInvalidate()
        // end
    }
}
