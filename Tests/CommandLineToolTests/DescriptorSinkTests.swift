// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import CommandLineTool

@Suite("Standard output, devices and pipes as destinations")
struct DescriptorSinkTests {
    @Test("a pipe takes what it has room for, in order, and nothing waits for its reader")
    func pipe() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(reader >= 0)
        defer { close(reader) }
        let sink = try DescriptorSink(opening: path)
        let bytes = (0..<4 << 20).map { UInt8(truncatingIfNeeded: $0 >> 3) }
        var written = 0
        var received: [UInt8] = []
        var space = [UInt8](repeating: 0, count: 1 << 16)
        func write() throws -> Int {
            try bytes.withUnsafeBytes { try sink.writeAvailable(UnsafeRawBufferPointer(rebasing: $0[written...])) }
        }
        // Where the system cannot do this, nothing is written.
        for _ in 0..<100 {
            let count = try write()
            written += count
            #expect(written < bytes.count)
            // It is full: nothing more is taken, and this call returns.
            #expect(try write() == 0)
            if count == 0 || written > bytes.count / 2 { break }
            let number = read(reader, &space, space.count)
            if number > 0 { received += space[..<number] }
        }
        while true {
            let number = read(reader, &space, space.count)
            guard number > 0 else { break }
            received += space[..<number]
        }
        #expect(received == Array(bytes[..<written]))
    }

    @Test("a pipe is enlarged when it is full, and not before")
    func enlargedPipe() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(reader >= 0)
        defer { close(reader) }
        let getSize: Int32 = 1032
        let size = fcntl(reader, getSize)
        let sink = try DescriptorSink(opening: path)
        let bytes = [UInt8](repeating: 1, count: 4 << 20)
        // Where the system cannot do this, nothing is written.
        guard try bytes.withUnsafeBytes({ try sink.writeAvailable($0.part(0..<1000)) }) == 1000 else { return }
        #expect(fcntl(reader, getSize) == size)
        let count = try bytes.withUnsafeBytes { try sink.writeAvailable($0) }
        #expect(count > Int(size))
        #expect(fcntl(reader, getSize) > size)
    }

    @Test("/dev/null takes everything at once, and the usual way works, too")
    func null() throws {
        let sink = try DescriptorSink(opening: "/dev/null")
        let bytes = [UInt8](repeating: 1, count: 100_000)
        #expect(try bytes.withUnsafeBytes { try sink.writeAvailable($0) } == bytes.count)
        try sink.write(bytes)
    }
}
