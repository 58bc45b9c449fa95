// SPDX-License-Identifier: Apache-2.0
import Platform
import Synchronization
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer
@testable import Receiver

@Suite("Clients that mean no good, or have bad luck")
struct HostileTests {
    @Test(
        "get the reason why their request is refused, and are disconnected",
        arguments: [
            ("GARBAGE\r\n\r\n", 400), ("GET / HTTP/1.1\nHost: localhost\n\n", 400), ("GET / HTTP/3.0\r\n\r\n", 505),
            ("PUT /f HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("PUT /f HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
            ("GET /" + String(repeating: "a", count: 9000) + " HTTP/1.1\r\n\r\n", 414),
            ("GET / HTTP/1.1\r\nA: " + String(repeating: "a", count: 40_000) + "\r\n\r\n", 431),
            ("BREW /pot HTTP/1.1\r\nHost: localhost\r\n\r\n", 405), ("\u{16}\u{3}\u{1}\u{2}\r\n\r\n", 400),
        ]
    )
    func malformed(text: String, status: Int) async throws {
        let bench = try await ReceiverBench()
        let client = try bench.client()
        client.send(text)
        #expect(try client.response().status == status)
        #expect(await bench.eventually { bench.unfinished.isEmpty })
        #expect(try bench.request("GET", "/").status == 200)
        await bench.receiver.stop()
    }

    @Test("may send many requests at once, and get their answers in order")
    func pipelining() async throws {
        let bench = try await ReceiverBench()
        for number in 0..<20 { try bench.directory.write([UInt8(number)], to: "f\(number)") }
        let client = try bench.client()
        var text = ""
        for number in 0..<20 {
            text += number % 3 == 0 ? "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" : ""
            text += "GET /f\(number) HTTP/1.1\r\nHost: localhost\r\n\r\n"
        }
        client.send(text)
        for number in 0..<20 {
            if number % 3 == 0 { #expect(try client.response().text.contains("<html")) }
            #expect(try client.response().body == [UInt8(number)])
        }
        await bench.receiver.stop()
    }

    @Test("end what they cut short: nothing behind a malformed request is one")
    func malformedThenMore() async throws {
        let bench = try await ReceiverBench()
        let client = try bench.client()
        client.send("GARBAGE\r\n\r\nPUT /smuggled HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx")
        #expect(try client.response().status == 400)
        #expect(client.isAtEnd())
        #expect(!bench.directory.entries().contains("smuggled"))
        await bench.receiver.stop()
    }

    @Test("learn by the connection's end that a file was cut while it was sent")
    func cutFile() async throws {
        let bench = try await ReceiverBench()
        let content = TestPattern().bytes(0..<20_000_000)
        try bench.directory.write(content, to: "f")
        let client = try RawClient(port: bench.receiver.address.port, receiveBuffer: 4096)
        client.send("GET /f HTTP/1.1\r\nHost: localhost\r\n\r\n")
        _ = client.readHead()
        #expect(truncate(bench.directory.path("f"), 15_000_000) == 0)
        let response = client.readToEnd()
        #expect(response.count < 20_000_000)
        await bench.receiver.stop()
    }

    @Test("cannot take every descriptor: some connections fewer than there are files for")
    func descriptors() {
        #expect(DescriptorLimit.connections(4096, within: 20_000) == 4096)
        #expect(DescriptorLimit.connections(4096, within: 1024) == 330)
        #expect(DescriptorLimit.connections(4096, within: 10) == 1)
    }

    @Test("may close their half and still get their answer")
    func halfClose() async throws {
        let bench = try await ReceiverBench()
        try bench.directory.write(TestPattern().bytes(0..<500_000), to: "f")
        let client = try bench.client()
        client.send("GET /f HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.finish()
        #expect(try client.response().body.count == 500_000)
        #expect(client.isAtEnd())
        await bench.receiver.stop()
    }

    @Test("get a response although they keep sending unwanted content")
    func refusedUpload() async throws {
        let bench = try await ReceiverBench { $0.takesUploads = false }
        for length in [1000, 50_000_000] {
            let client = try bench.client()
            client.send("PUT /f HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(length)\r\n\r\n")
            client.send(Array(repeating: 0x61, count: min(length, 2_000_000)))
            #expect(try client.response().status == 403)
        }
        await bench.receiver.stop()
    }

    @Test("are turned away beyond the limit of connections")
    func connectionLimit() async throws {
        let bench = try await ReceiverBench { $0.limits.connections = 3 }
        // Uploads that have begun are not ended for a new client; an idle connection is.
        let busy = try (0..<3).map { _ in try bench.client() }
        for (index, client) in busy.enumerated() {
            client.send("PUT /f\(index) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc")
        }
        #expect(await bench.eventually { bench.unfinished.count == 3 })
        let more = try bench.client()
        #expect(try more.response().status == 503)
        busy[0].send("defghij")
        #expect(try busy[0].response().status == 201)
        let next = try bench.client()
        #expect(try next.request("GET", "/").status == 200)
        #expect(busy[0].isAtEnd())
        await bench.receiver.stop()
    }

    @Test("lose patience's end: a head, a body and an idle connection each have their time")
    func timeouts() async throws {
        // One short time each. A head's begins with its connection, so that it must do for the client to begin, too.
        let heads = try await ReceiverBench { $0.limits.headTime = .seconds(2) }
        let bodies = try await ReceiverBench { $0.limits.idle = .milliseconds(300) }
        let idles = try await ReceiverBench { $0.limits.keepAlive = .milliseconds(300) }
        let head = try heads.client()
        head.send("GET / HT")
        #expect(try head.response().status == 408)
        let body = try bodies.client()
        body.send("PUT /f HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc")
        #expect(try body.response().status == 408)
        #expect(await bodies.eventually { bodies.unfinished.isEmpty })
        let idle = try idles.client()
        #expect(try idle.request("GET", "/").status == 200)
        #expect(idle.isAtEnd())
        for bench in [heads, bodies, idles] { await bench.receiver.stop() }
    }

    @Test("that send slowly by the hundred delay no other client, and leave nothing behind")
    func slowSenders() async throws {
        let bench = try await ReceiverBench()
        let clients = try (0..<200).map { _ in try bench.client() }
        for (index, client) in clients.enumerated() {
            client.send("PUT /slow\(index) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx")
        }
        #expect(try bench.request("PUT", "/quick", body: [1]).status == 201)
        #expect(await bench.eventually { bench.unfinished.count == 200 })
        #expect(bench.directory.entries().filter { $0.hasPrefix("slow") }.isEmpty)
        for client in clients { client.reset() }
        #expect(await bench.eventually { bench.unfinished.isEmpty })
        await bench.receiver.stop()
    }

    @Test("leave a line each in the log, in the common format, whatever they send")
    func log() async throws {
        let lines = Mutex("")
        let log = AccessLog { bytes in lines.withLock { $0 += String(decoding: bytes, as: UTF8.self) } }
        let bench = try await ReceiverBench(log: log)
        try bench.directory.write([1, 2], to: "f")
        _ = try bench.request("GET", "/f?secret=1")
        _ = try bench.request("GET", "/%22%0a\"")
        await bench.receiver.stop()
        let text = lines.withLock { $0 }.split(separator: "\n")
        #expect(text.count == 2)
        let pattern =
            #/^127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] "GET (\S+) HTTP/1\.1" (\d{3}) (\S+)$/#
        // A line is written when its answer has gone, so that two connections' may come in either order.
        let matches = text.compactMap { $0.wholeMatch(of: pattern) }
        let first = try #require(matches.first { $0.1 == "/f" })
        #expect(first.2 == "200")
        #expect(first.3 == "2")
        #expect(matches.contains { $0.1 == "/%22%0a\\\"" })
    }

    @Test("that are being answered when the receiver stops get the whole answer")
    func gracefulStop() async throws {
        // More than the rest of the answer takes on a busy machine.
        let bench = try await ReceiverBench { $0.limits.grace = .seconds(30) }
        let content = TestPattern().bytes(0..<8_000_000)
        try bench.directory.write(content, to: "f")
        let client = try RawClient(port: bench.receiver.address.port, receiveBuffer: 4096)
        client.send("GET /f HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let idle = try bench.client()
        #expect(try idle.request("HEAD", "/").status == 200)
        let first = client.read()
        let receiver = bench.receiver
        async let stopped: Void = receiver.stop()
        #expect(idle.isAtEnd())
        var all = first
        while true {
            let more = client.read()
            if more.isEmpty { break }
            all += more
        }
        await stopped
        #expect(all.suffix(1000) == content.suffix(1000))
    }

    @Test("cannot find a receiver where the port is taken or the directory is missing; it says so")
    func starting() async throws {
        let bench = try await ReceiverBench()
        let port = bench.receiver.address.port
        await #expect { try await ReceiverBench { $0.listen.port = port } } throws: { error in
            (error as? ReceiverError)?.code == .address && "\(error)".contains("\(port)")
        }
        await #expect { try await ReceiverBench { $0.directory = "/nonexistent/x" } } throws: { error in
            (error as? ReceiverError)?.code == .directory
        }
        await bench.receiver.stop()
    }
}
