// SPDX-License-Identifier: Apache-2.0
import Martlet

enum Background {
    // snippet: background-delegate
    final class Library: TransferDelegate {
        func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
            switch result {
            case .success(let file): print(task.persistentInfo, "is at", file.path)
            case .failure(let error): print(task.persistentInfo, "failed:", error)
            }
        }

        func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void) {
            // Store what was made of the events, and then:
            completion()
        }

        func sessionDidFail(_ session: TransferSession, with error: TransferError) {
            print("no background session:", error)
        }
    }
    // end

    static func queue(_ urls: [String], _ library: Library) async throws {
        // snippet: background-queue
        let configuration = SessionConfiguration.background(identifier: "org.example.reader")
        let session = try TransferSession(configuration: configuration, delegate: library, on: .main)
        for (number, url) in urls.enumerated() {
            let task = try session.downloadTask(for: url, to: .directory("/srv/books"))
            task.persistentInfo = "book \(number)"
            task.resume()
        }
        // end
    }

    static func again(_ library: Library) async throws {
        // snippet: background-again
        let session = try await TransferSession.open(.background(identifier: "org.example.reader"))
        for task in await session.tasks().download {
            print(task.persistentInfo, task.state, task.bytesReceived)
        }
        session.addDelegate(library, on: .main)
        // end
    }

    static func upload(_ library: Library) async throws {
        // snippet: background-upload
        var request = try TransferRequest("https://example.org/in")
        request.method = "POST"
        let configuration = SessionConfiguration.background(identifier: "org.example.camera")
        configuration.cookies?
            .set(try Cookie(name: "session", value: "7c1f", domain: "example.org", path: "/in", created: 0))
        let session = try await TransferSession.open(configuration, delegate: library)
        let task = try session.uploadTask(for: request, from: .file("/srv/photos/1.png"))
        task.persistentInfo = "photo 1"
        task.resume()
        // end
    }

    static func list(_ screen: any OfflineDownloads.Observer) throws {
        // snippet: background-list
        let list = try OfflineDownloads(
            list: "/var/lib/reader/downloads.json",
            directory: "/srv/books",
            configuration: .background(identifier: "org.example.reader.books"),
            observer: screen,
            on: .main
        )
        for download in list.downloads { print(download.name, download.state) }
        // end
    }

    static func manually(_ task: DownloadTask) throws {
        // snippet: background-acknowledge
        var configuration = SessionConfiguration.background(identifier: "org.example.reader")
        configuration.acknowledgesEvents = .manually
        let session = try TransferSession(configuration: configuration)
        if let number = task.eventNumber { session.acknowledge(upTo: number) }
        // end
    }

    static func wake() {
        // snippet: background-wake
        var configuration = SessionConfiguration.background(identifier: "org.example.reader")
        configuration.wakeCommand = ["/usr/bin/reader", "--fetch-events"]
        // end
        // snippet: background-wake-systemd
        configuration.wakeCommand = [
            "/usr/bin/systemd-run", "--user", "--wait", "--collect", "--setenv=MARTLET_SESSION",
            "--setenv=MARTLET_STATE_DIR", "/usr/bin/reader", "--fetch-events",
        ]
        // end
    }

    // snippet: background-woken
    final class Fetcher: TransferDelegate {
        let (finished, finish) = AsyncStream.makeStream(of: Void.self)

        func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
            // Store the result.
        }

        func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void) {
            completion()
            self.finish.yield()
        }
    }
    // end

    static func fetchEvents(_ configuration: SessionConfiguration) async throws {
        // snippet: background-fetch
        let fetcher = Fetcher()
        let session = try await TransferSession.open(configuration, delegate: fetcher)
        for await _ in fetcher.finished { break }
        await session.close()
        // end
    }

    static func notify() {
        // snippet: background-notifications
        var configuration = SessionConfiguration.background(identifier: "org.example.reader")
        configuration.notifications = [.allDone, .failed]
        // end
        _ = configuration
    }

    static func handOver(_ session: TransferSession) async throws {
        // snippet: background-hand-over
        try await session.handOver()
        // end
    }

    static func close(_ session: TransferSession) async throws {
        // snippet: background-close
        await session.close()
        let again = try await TransferSession.open(.background(identifier: "org.example.reader"))
        // end
        _ = again
    }

    static func quit(_ session: TransferSession) {
        // snippet: background-quit
        session.invalidateAndCancel()
        // end
    }

    static func repeated() throws -> TransferRequest {
        // snippet: background-repeated
        var request = try TransferRequest("https://example.org/in")
        request.method = "POST"
        request.mayBeRepeated = true
        request.sendsIdempotencyKey = true
        // end
        return request
    }
}
