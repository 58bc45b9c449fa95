// SPDX-License-Identifier: Apache-2.0
import Platform
import NIOCore
import NIOPosix
import Synchronization
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer
@testable import Receiver

/// How often each thread requested the release from the owner of an upload: waiting threads repeat the request.
private final class Asked: Sendable {
    private let counts = Mutex<[UInt: Int]>([:])

    var count: Int { self.counts.withLock { $0[pthread_self(), default: 0] } }

    func note() { self.counts.withLock { $0[pthread_self(), default: 0] += 1 } }
}

/// Counts how often it was cut off.
private final class CountedConnection: RequestContext {
    let eventLoop: any EventLoop
    private(set) var aborts = 0

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func hold() {}
    func release() {}
    func interim(_ status: Int, _ fields: HeaderFields) {}
    func respond(_ response: Response) {}
    func abort() { self.aborts += 1 }
    func task(_ operation: @escaping @Sendable () async -> Void) {}
    func blocking<Value: Sendable>(
        on pool: NIOThreadPool?,
        _ work: @escaping @Sendable () -> Value,
        then: @escaping (Value) -> Void
    ) {}
}

@Suite("Requests for one upload")
struct ActiveUploadsTests {
    @Test("cut off the owner, and take the upload when the owner releases it")
    func precedence() async throws {
        let uploads = ActiveUploads()
        #expect(uploads.take("a") { uploads.release("a") })
        #expect(uploads.take("a") {})
        #expect(uploads.take("b") {})
        #expect(uploads.contains("a") && uploads.contains("b") && !uploads.contains("c"))
    }

    @Test("wait for it four at a time: a fifth one is refused at once, because the threads are needed")
    func waiting() async throws {
        let uploads = ActiveUploads()
        let asked = Asked()
        #expect(uploads.take("a") { asked.note() })
        let pool = NIOThreadPool(numberOfThreads: 5)
        pool.start()
        let ends = await withTaskGroup { group in
            for _ in 0..<5 {
                group.addTask {
                    try? await pool.runIfActive {
                        let isTaken = uploads.take("a") {}
                        // The first to come back could not wait; that lets the others have it, one after the other.
                        uploads.release("a")
                        return (isTaken, asked.count)
                    }
                }
            }
            return await group.reduce(into: [(Bool, Int)]()) { ends, end in if let end { ends.append(end) } }
        }
        #expect(ends.count { $0.0 } == 4)
        let refused = ends.filter { !$0.0 }
        #expect(refused.map(\.1) == [1])
        try await pool.shutdownGracefully()
    }

    @Test("are not cut off any more once they have ended, though that was asked before", arguments: [false, true])
    func lateCut(hasEnded: Bool) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let (connection, cut) =
            try await loop.submit {
                let connection = CountedConnection(loop)
                let cut = CutSwitch()
                cut.connect(connection)
                // Asked on the loop: it is done behind what the loop is doing now.
                cut.cut()
                if hasEnded { cut.disconnect() }
                return (NIOLoopBound(connection, eventLoop: loop), cut)
            }
            .get()
        #expect(try await loop.submit { connection.value.aborts }.get() == (hasEnded ? 0 : 1))
        withExtendedLifetime(cut) {}
    }
}
