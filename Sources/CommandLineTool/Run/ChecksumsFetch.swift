// SPDX-License-Identifier: Apache-2.0
import Files
import Synchronization
import TransferCore
import TransferEngine

/// Reads the list of `--checksums-from`: a file, standard input, or a URL, which is fetched like any other.
final class ChecksumsFetch: BodyReceiver {
    /// The origin of a list.
    enum Source: Equatable {
        /// A file; `-` is standard input.
        case file(String)
        case url(HTTPURL)

        /// The name in messages: the last component.
        var name: String {
            switch self {
            case .file("-"): "standard input"
            case .file(let path): path.lastComponent
            case .url(let url): url.lastPathSegment ?? url.redacted
            }
        }
    }

    private let bytes = Mutex<[UInt8]>([])
    private let result = Mutex<Result<Void, TransferFailure>?>(nil)
    private let wakeUp: WakeUp

    /// - Throws: ``SyntaxError`` if no descriptor is available.
    init() throws(SyntaxError) { self.wakeUp = try WakeUp() }

    // MARK: Receiving

    var keepsBytes: Bool { true }

    func receive(
        _ bytes: UnsafeRawBufferPointer,
        resume: @escaping @Sendable () -> Void
    ) throws(TransferFailure) -> Bool {
        let isTooLong = self.bytes.withLock { held in
            held.append(contentsOf: bytes)
            return held.count > ChecksumList.longest
        }
        guard !isTooLong else {
            throw TransferFailure(
                .tooLarge,
                "the list is longer than \(ChecksumList.longest >> 20) MiB",
                remedy: "give a list of the files that are wanted"
            )
        }
        return true
    }

    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
        self.bytes.withLock { held in
            guard let start = Int(exactly: offset), start >= 0, start + bytes.count <= held.count else { return false }
            return held[start..<start + bytes.count].elementsEqual(bytes)
        }
    }

    /// Takes an event of the engine.
    ///
    /// - Returns: Whether it concerns the list, and is not for the user.
    func take(_ event: TransferEvent) -> Bool {
        guard event.userInfo as? ChecksumsFetch === self else { return false }
        switch event.kind {
        case .finished: self.end(.success(()))
        case .failed(let failure): self.end(.failure(failure))
        case .cancelled: self.end(.failure(TransferFailure(.unknown, "the run was stopped")))
        default: break
        }
        return true
    }

    private func end(_ result: Result<Void, TransferFailure>) {
        self.result.withLock { $0 = result }
        self.wakeUp.wake()
    }

    // MARK: Reading

    /// Reads the list; blocks.
    ///
    /// - Parameters:
    ///   - source: Its origin.
    ///   - options: The options of the run's requests.
    ///   - engine: The engine, which fetches a URL.
    ///   - isStopping: Whether the run is stopping.
    /// - Returns: The list, or `nil` if the run is stopping.
    /// - Throws: ``TransferFailure``.
    func read(
        _ source: Source,
        _ options: DownloadOptions,
        _ engine: TransferEngine,
        isStopping: () -> Bool
    ) throws(TransferFailure) -> ChecksumList? {
        let text: [UInt8]
        switch source {
        case .file(let path): text = try Self.read(path)
        case .url(let url):
            var options = options
            options.destination = .memory(self)
            options.refresher = nil
            var request = DownloadRequest([url], options: options)
            request.userInfo = self
            do throws(EngineError) { try engine.add(request) } catch { return nil }
            while self.result.withLock({ $0 }) == nil, !isStopping() { self.wakeUp.wait(milliseconds: 500) }
            guard let result = self.result.withLock({ $0 }) else { return nil }
            try result.get()
            text = self.bytes.withLock { $0 }
        }
        do throws(SyntaxError) {
            return try ChecksumList(text, source: DisplayText.clean(source.name))
        } catch {
            throw TransferFailure(.badOption, error.message)
        }
    }

    private static func read(_ path: String) throws(TransferFailure) -> [UInt8] {
        do throws(StorageError) {
            let file = path == "-" ? "/dev/stdin" : path
            guard let bytes = try AtomicFile.read(file, atMost: ChecksumList.longest) else {
                throw StorageError(.cannotOpen, "cannot open '\(path)': it does not exist", errno: 2)
            }
            return bytes
        } catch {
            throw TransferFailure(error)
        }
    }
}
