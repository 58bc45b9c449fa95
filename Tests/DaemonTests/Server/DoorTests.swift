// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import Daemon

@Suite("Clients without the token", .timeLimit(.minutes(2)))
struct DoorTests {
    private static let strong = "f3b1a0c2d4e5968778695a4b3c2d1e0f"

    private static func call(_ token: String) -> String {
        #"{"id":1,"method":"aria2.tellWaiting","params":["token:\#(token)",0,1]}"#
    }

    @Test("hundreds of slow connections do not keep out a client with the token, nor one of the Unix socket")
    func slow() async throws {
        try await ServerHarness.run {
            $0.limits.connections = 40
            $0.limits.requestTime = .seconds(600)
            $0.limits.unauthenticatedTime = .seconds(600)
        } _: { harness in
            let early = try await harness.tcp()
            #expect(try await early.request(body: HTTPTests.call).status == 200)
            var slow: [RawConnection] = []
            let beginnings = [
                "", "GET /hea", "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{",
                "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", RawWebSocket.handshake(),
            ]
            for index in 0..<300 {
                let connection = try await harness.tcp()
                // A connection that was closed for another one already takes no bytes.
                try? await connection.send(beginnings[index % beginnings.count])
                slow.append(connection)
            }
            let late = try await harness.tcp()
            #expect(try await late.request(body: HTTPTests.call).status == 200)
            #expect(try await early.request(body: HTTPTests.call).status == 200)
            let local = try await harness.local()
            #expect(try await local.request(body: HTTPTests.open).status == 200)
            for connection in slow + [early, late, local] { await connection.close() }
        }
    }

    @Test("a client that guesses a weak token is refused with 429, in a batch too; a strong one is never refused")
    func guesses() async throws {
        for token in ["weak", Self.strong] {
            try await ServerHarness.run {
                $0.token = token
            } _: { harness in
                let known = try await harness.tcp()
                #expect(try await known.request(body: Self.call(token)).status == 200)
                let guesser = try await harness.tcp()
                let batch = (0..<200).map { Self.call("guess \($0)") } + [Self.call(token)]
                let reply = try await guesser.request(body: "[\(batch.joined(separator: ","))]")
                #expect(reply.status == 200)
                #expect(reply.body.contains(#""result":[]"#) == (token == Self.strong))
                let other = try await harness.tcp()
                let next = try await other.request(body: Self.call(token))
                if token == Self.strong {
                    #expect(next.status == 200)
                } else if next.status != 200 {
                    // The refusal is short: a slow machine may be late for it.
                    #expect(next.status == 429)
                    #expect(next.field("Retry-After") == "1")
                    #expect(next.body.contains("Too many wrong tokens from this address"))
                }
                #expect(try await known.request(body: Self.call(token)).status == 200)
                for connection in [known, guesser, other] { await connection.close() }
            }
        }
    }

    @Test(
        "connections cannot take the descriptors of transfers",
        arguments: [(32, 8, 2, 1), (1024, 256, 64, 160), (20_000, 4096, 1024, 3704)]
    )
    func descriptors(_ limit: Int, _ connections: Int, _ local: Int, _ transfers: Int) {
        let shares = DescriptorShares(limit: limit)
        #expect(shares.connections == connections)
        #expect(shares.localConnections == local)
        #expect(shares.transfers == transfers)
        #expect(DescriptorShares(limit: nil).connections == ServerLimits().connections)
    }
}
