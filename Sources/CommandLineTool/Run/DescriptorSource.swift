#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif
import Dispatch
import Synchronization
internal import TransferCore
import TransferEngine

/// Standard input as an upload's content: read on a thread of its own, one piece when it is asked for.
final class DescriptorSource: ContentStream {
    typealias Take = @Sendable (Result<[UInt8]?, TransferFailure>) -> Void

    private struct State {
        var take: Take?
        var isStarted = false
        var isCancelled = false
        /// What a file has beyond what was read, or `nil` where that is not known.
        var left: Int64?
    }

    private static let pieceSize = 256 << 10

    let length: Int64?
    private let descriptor: Int32
    private let state = Mutex(State())
    private let asked = DispatchSemaphore(value: 0)

    /// Reads standard input; where that is a file it has the length that it has now, and what is added to it is left out.
    ///
    /// A length of 0, and one without any block on a disk, are those of files that the kernel makes up as they are read
    /// (proc(5), sysfs(5)): what they hold is known at the end.
    init(_ descriptor: Int32 = STDIN_FILENO) {
        self.descriptor = descriptor
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0,
            status.st_blocks > 0
        else {
            self.length = nil
            return
        }
        // Somebody may have read from it already.
        let left = max(0, Int64(status.st_size) - Int64(max(0, lseek(descriptor, 0, SEEK_CUR))))
        self.length = left
        self.state.withLock { $0.left = left }
    }

    func next(_ take: @escaping Take) {
        let starts = self.state.withLock { state in
            state.take = take
            defer { state.isStarted = true }
            return !state.isStarted
        }
        if starts {
            do throws(BadValue) {
                try PosixThread.start { self.run() }
            } catch {
                return take(.failure(TransferFailure(.fileIO, error.description)))
            }
        }
        self.asked.signal()
    }

    func cancel() {
        self.state.withLock { $0.isCancelled = true }
        self.asked.signal()
    }

    private func run() {
        while true {
            self.asked.wait()
            let take: Take? = self.state.withLock { state in
                defer { state.take = nil }
                return state.isCancelled ? nil : state.take
            }
            guard let take else { return }
            let given = self.read()
            take(given)
            if case .success(.some) = given { continue }
            return
        }
    }

    private func read() -> Result<[UInt8]?, TransferFailure> {
        let left = self.state.withLock { $0.left }
        if left == 0 { return .success(nil) }
        var bytes = [UInt8](repeating: 0, count: Int(min(Int64(Self.pieceSize), left ?? .max)))
        while true {
            let count = systemRead(self.descriptor, &bytes, bytes.count)
            if count > 0 {
                self.state.withLock { $0.left = left.map { $0 - Int64(count) } }
                bytes.removeLast(bytes.count - count)
                return .success(bytes)
            }
            if count == 0 { return .success(nil) }
            if errno == EAGAIN {
                // Another program that has the same terminal or pipe open does not want to wait for it; this one does.
                var ready = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
                poll(&ready, 1, -1)
                continue
            }
            guard errno == EINTR else {
                let reason = String(cString: strerror(errno))
                return .failure(TransferFailure(.fileIO, "standard input cannot be read: \(reason)"))
            }
        }
    }
}

private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}
