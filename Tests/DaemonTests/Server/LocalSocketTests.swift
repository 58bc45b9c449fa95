// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferTesting

@testable import Daemon

@Suite("The Unix socket's file", .timeLimit(.minutes(1)))
struct LocalSocketTests {
    private static func inode(_ path: String) -> ino_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_ino : nil
    }

    @Test("A server that ends leaves the socket of its successor, and takes its own away")
    func successor() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("martletd.sock")
        let first: @Sendable (inout ServerConfiguration) -> Void = { configuration in
            configuration.listen = nil
            configuration.socketPath = path
        }
        var successor: ino_t?
        try await ServerHarness.run(first) { old in
            #expect(old.path == path && Self.inode(LocalSocket(path).provisional) == nil)
            let own = Self.inode(path)
            // As when the state directory was deleted under the old one: the new one has another lock.
            let (ended, end) = AsyncStream.makeStream(of: Void.self)
            let (bound, boundContinuation) = AsyncStream.makeStream(of: Void.self)
            let new = Task {
                try await ServerHarness.run(first) { _ in
                    boundContinuation.finish()
                    for await _ in ended {}
                    let connection = try await RawConnection.connect(path: path)
                    withExtendedLifetime(connection) {}
                }
            }
            for await _ in bound {}
            successor = Self.inode(path)
            #expect(successor != nil && successor != own)
            await old.server.stop()
            #expect(Self.inode(path) == successor)
            end.finish()
            try await new.value
        }
        #expect(Self.inode(path) == nil)
    }

    @Test("The provisional name is in the same directory and as long")
    func names() {
        #expect(LocalSocket("/a/martletd.sock").provisional == "/a/_artletd.sock")
        #expect(LocalSocket("/a/_s").provisional == "/a/-s")
        #expect(LocalSocket("s").provisional == "_")
    }
}
