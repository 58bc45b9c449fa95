// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import MartletURLSession
import Testing
import TransferTesting

@Suite("Connections in the metrics of MartletURLSession", .timeLimit(.minutes(1)))
struct ConnectionMetricsTests {
    private final class Delegate: NSObject, URLSessionDataDelegate, Sendable {
        let metrics = AsyncStream<URLSessionTaskMetrics>.makeStream()

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            self.metrics.continuation.yield(metrics)
        }

        func next() async -> URLSessionTaskMetrics? {
            for await made in self.metrics.stream { return made }
            return nil
        }
    }

    /// The dates of a transaction in the order in which the events take place, without those that are `nil`.
    private static func dates(_ made: URLSessionTaskTransactionMetrics) -> [Date] {
        [
            made.fetchStartDate, made.domainLookupStartDate, made.domainLookupEndDate, made.connectStartDate,
            made.secureConnectionStartDate, made.secureConnectionEndDate, made.connectEndDate, made.requestStartDate,
            made.requestEndDate, made.responseStartDate, made.responseEndDate,
        ]
        .compactMap { $0 }
    }

    /// Runs a task and returns its metrics.
    private func measure(
        _ delegate: Delegate,
        _ task: URLSessionTask
    ) async throws -> [URLSessionTaskTransactionMetrics] {
        task.resume()
        let metrics = try #require(await delegate.next())
        for made in metrics.transactionMetrics {
            let dates = Self.dates(made)
            // Ages are measured by another clock than dates.
            for (one, next) in zip(dates, dates.dropFirst()) { #expect(one <= next.addingTimeInterval(0.05)) }
        }
        return metrics.transactionMetrics
    }

    @Test("a new connection has its times and addresses, and the next request reuses it")
    func reuse() async throws {
        let server = try await ScriptedServer.start { request in
            request.path == "/from" ? .redirect(to: "/to") : .response(200, text: "fine")
        }
        let delegate = Delegate()
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        let url = try #require(URL(string: server.text("a")))
        let first = try #require(try await self.measure(delegate, session.dataTask(with: url)).first)
        #expect(!first.isReusedConnection && !first.isProxyConnection)
        #expect(first.connectStartDate != nil && first.connectEndDate != nil && first.requestEndDate != nil)
        #expect(first.domainLookupStartDate == nil && first.secureConnectionStartDate == nil)
        #expect(first.remoteAddress == "127.0.0.1" && first.remotePort == server.port)
        #expect(first.localAddress == "127.0.0.1" && first.localPort != first.remotePort)
        // A redirect: two requests over the connection that is there.
        let from = try #require(URL(string: server.text("from")))
        let made = try await self.measure(delegate, session.dataTask(with: from))
        #expect(made.count == 2 && server.connectionCount == 1)
        for one in made {
            #expect(one.isReusedConnection && one.localPort == first.localPort)
            #expect(one.connectStartDate == nil && one.connectEndDate == nil && one.requestStartDate != nil)
        }
    }

    @Test("the resolution of a name and the handshake have their times")
    func names() async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, text: "fine") }
        let delegate = Delegate()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.adjust = { $0.tls.roots = .pem([UInt8](TestCertificate.localhost.authorityPEM.utf8)) }
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        let url = try #require(URL(string: "https://localhost:\(server.port)/"))
        let made = try #require(try await self.measure(delegate, session.dataTask(with: url)).first)
        #expect((made.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(made.domainLookupStartDate != nil && made.domainLookupEndDate != nil)
        #expect(made.secureConnectionStartDate != nil && made.secureConnectionEndDate == made.connectEndDate)
        #expect(Self.dates(made).count == 11)
    }

    @Test("a request through a proxy says so, and one with content ends when that is sent")
    func proxy() async throws {
        let proxy = try await ScriptedServer.start { _ in .response(200, text: "through") }
        let delegate = Delegate()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.adjust = { $0.proxy = try .server("http://127.0.0.1:\(proxy.port)") }
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        var request = URLRequest(url: try #require(URL(string: "http://example.invalid/")))
        request.httpMethod = "POST"
        let task = session.uploadTask(with: request, from: Data(count: 100_000))
        let made = try #require(try await self.measure(delegate, task).first)
        #expect(made.isProxyConnection && made.remotePort == proxy.port && made.requestEndDate != nil)
        #expect(made.countOfRequestBodyBytesSent == 100_000)
    }

    @Test("without a connection there are no times")
    func refused() async throws {
        let port = try RefusingPort()
        let delegate = Delegate()
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        let url = try #require(URL(string: "http://127.0.0.1:\(port.port)/"))
        let made = try #require(try await self.measure(delegate, session.dataTask(with: url)).first)
        #expect(made.connectEndDate == nil && made.remoteAddress == nil && made.responseStartDate == nil)
        #expect(made.requestStartDate == made.fetchStartDate)
    }
}
