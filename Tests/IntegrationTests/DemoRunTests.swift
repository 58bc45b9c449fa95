// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferTesting

/// `martlet demo`, as a user runs it in a pipe.
@Suite("martlet demo in a pipe", .serialized, .timeLimit(.minutes(4)))
struct DemoRunTests {
    private func demo(_ place: TemporaryDirectory, _ options: String...) throws -> BuiltProgram {
        try BuiltProgram(
            ["demo"] + (options.contains("--size") ? [] : ["--size", "4M"]) + options,
            environment: ["TMPDIR": place.path, "http_proxy": "http://127.0.0.1:1"],
            mergesErrors: true
        )
    }

    /// Reads the output up to the first download.
    ///
    /// - Returns: The port of the server.
    private func port(_ demo: BuiltProgram) async throws -> UInt16 {
        var output = ""
        while !output.contains("$ martlet get") {
            let text = await demo.said()
            try #require(!text.isEmpty, "\(output)")
            output += text
        }
        let address = output.split(separator: "127.0.0.1:", maxSplits: 1).last?.prefix { $0.isNumber }
        return try #require(address.flatMap { UInt16($0) }, "\(output)")
    }

    /// Whether a server accepts connections on a port of this machine.
    private func isServing(_ port: UInt16) -> Bool {
        let descriptor = self.connection(to: port)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }

    /// Connects to a port of this machine; -1 if nothing listens there.
    private func connection(to port: UInt16) -> Int32 {
        let descriptor = socket(AF_INET, SocketType.stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isConnected { return descriptor }
        close(descriptor)
        return -1
    }

    @Test func allStepsHoldAndNothingIsLeft() async throws {
        let place = try TemporaryDirectory()
        let demo = try self.demo(place, "--rate", "2M")
        let output = await demo.everything()
        #expect(await demo.status == 0, "\(output)")
        let lines = output.split(separator: "\n")
        #expect(lines.count { $0.hasPrefix("   held: ") } == 3, "\(output)")
        #expect(lines.contains { $0.hasPrefix("All three held") }, "\(output)")
        #expect(!output.contains("\u{1B}") && !output.contains("\r"))
        #expect(lines.allSatisfy { $0.count < 80 }, "\(output)")
        #expect(place.entries() == [], "something is left behind")
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aSignalEndsTheProcessesAndRemovesTheDirectory(_ number: Int32) async throws {
        let place = try TemporaryDirectory()
        // SIGHUP is ignored here under nohup(1), SIGINT behind `&` of a script, and so they would be in the child.
        _ = signal(number, SIG_DFL)
        let demo = try self.demo(place, "--rate", "64K")
        let port = try await self.port(demo)
        #expect(self.isServing(port))
        demo.signal(number)
        #expect(await demo.status == 130)
        #expect(!self.isServing(port))
        #expect(place.entries() == [])
    }

    /// timeout(1) sends its signal to the process, and immediately again to the process's group.
    ///
    /// Here they are two signals, which the kernel cannot merge.
    @Test func aRepeatedSignalDoesNotInterruptTheCleanUp() async throws {
        let place = try TemporaryDirectory()
        let demo = try self.demo(place, "--rate", "64K")
        let port = try await self.port(demo)
        demo.signal(SIGTERM)
        demo.signal(SIGHUP)
        #expect(await demo.status == 130)
        #expect(!self.isServing(port))
        #expect(place.entries() == [])
    }

    @Test func aSizeThatDoesNotFitIsReportedAtOnce() async throws {
        let place = try TemporaryDirectory()
        let demo = try self.demo(place, "--size", "1000000T")
        let output = await demo.everything()
        #expect(await demo.status == 1)
        #expect(output.contains("martlet: the demo needs "), "\(output)")
        #expect(place.entries() == [])
    }

    #if os(Linux)
    @Test func theProcessesEndWithAKilledDemo() async throws {
        let place = try TemporaryDirectory()
        let demo = try self.demo(place, "--rate", "64K")
        let port = try await self.port(demo)
        var connection = self.connection(to: port)
        try #require(connection >= 0)
        await demo.endAtOnce()
        // A connection ends with its server. The kernel closes the files of a killed process one by one, the listening
        // socket after the connections: a later connection waits in its queue, and ends with it.
        let deadline = ContinuousClock.now + .seconds(30)
        while connection >= 0, ContinuousClock.now < deadline {
            var end = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            #expect(poll(&end, 1, 30_000) == 1)
            close(connection)
            connection = self.connection(to: port)
        }
        #expect(connection < 0)
        if connection >= 0 { close(connection) }
    }
    #endif
}
