import Glibc
import NIOPosix
import Synchronization
import Testing
import TransferTesting

@testable import Receiver

/// How often each thread asked the one that has an upload to let go: who waits asks again and again.
private final class Asked: Sendable {
    private let counts = Mutex<[UInt: Int]>([:])

    var count: Int { self.counts.withLock { $0[pthread_self(), default: 0] } }

    func note() { self.counts.withLock { $0[pthread_self(), default: 0] += 1 } }
}

@Suite("Requests for one upload")
struct ActiveUploadsTests {
    @Test("cut off the one that has it, and take it when it lets go")
    func precedence() async throws {
        let uploads = ActiveUploads()
        #expect(uploads.take("a") { uploads.release("a") })
        #expect(uploads.take("a") {})
        #expect(uploads.take("b") {})
        #expect(uploads.contains("a") && uploads.contains("b") && !uploads.contains("c"))
    }

    @Test("wait for it four at a time: one more is told so at once, for the threads are needed")
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
        #expect(ends.map(\.0) == [false, true, true, true, true])
        #expect(ends.first?.1 == 1)
        try await pool.shutdownGracefully()
    }
}
