// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

@Suite("Uploads that are cut again and again")
struct CutTests {
    private struct Talk {
        var create: [(String, String)]
        var ask: [(String, String)]
        var append: [(String, String)]
    }

    private static func talk(isTus: Bool, length: Int) -> Talk {
        if isTus {
            let version = ("Tus-Resumable", "1.0.0")
            return Talk(
                create: [version, ("Upload-Length", "\(length)")],
                ask: [version],
                append: [version, ("Content-Type", "application/offset+octet-stream")]
            )
        }
        let version = ("Upload-Draft-Interop-Version", "6")
        return Talk(
            create: [version, ("Upload-Complete", "?0"), ("Upload-Length", "\(length)")],
            ask: [version],
            append: [version, ("Upload-Complete", "?1"), ("Content-Type", "application/partial-upload")]
        )
    }

    // The same with SIGKILL, and 200 cuts: Scripts/check-receiver kills.
    @Test("bring the right bytes, never go back, and are not there before they are whole", arguments: [false, true])
    func cuts(isTus: Bool) async throws {
        var random = SeededGenerator(seed: isTus ? 11 : 12)
        let content = TestPattern(seed: 6).bytes(0..<400_000)
        let talk = Self.talk(isTus: isTus, length: content.count)
        let directory = try TemporaryDirectory()
        var bench = try await ReceiverBench(in: directory)
        let made = try bench.request("POST", "/f", talk.create, body: [])
        let location = try #require(made.fields["Location"])
        var acknowledged = 0
        for round in 0..<60 {
            let standing = try bench.request("HEAD", location, talk.ask)
            let offset = try #require(standing.fields["Upload-Offset"].flatMap { Int($0) })
            #expect(offset >= acknowledged)
            acknowledged = offset
            if offset == content.count { break }
            #expect(!directory.contains("f"))
            let rest = content.count - offset
            // The last rounds are not cut, so that it completes.
            let part = round < 20 ? Int.random(in: 0...min(rest, 60_000), using: &random) : rest
            var head = "PATCH \(location) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(rest)\r\n"
            head += "Upload-Offset: \(offset)\r\n"
            for (name, value) in talk.append { head += "\(name): \(value)\r\n" }
            let client = try bench.client()
            client.send(Array((head + "\r\n").utf8) + content[offset..<(offset + part)])
            if part == rest {
                #expect([201, 204].contains(try client.response().status))
            } else if round % 5 == 4 {
                await bench.receiver.stop()
                bench = try await ReceiverBench(in: directory)
            } else {
                client.reset()
            }
        }
        #expect(acknowledged == content.count || directory.contains("f"))
        #expect(try directory.read("f") == content)
        await bench.receiver.stop()
    }
}
