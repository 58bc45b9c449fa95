// SPDX-License-Identifier: Apache-2.0
import Martlet

enum Events {
    static func progress() async throws {
        // snippet: events-progress
        let task = try TransferSession.shared.downloadTask(for: "https://example.org/a.iso", to: .file("a.iso"))
        let events = task.events
        task.resume()
        for await event in events {
            switch event {
            case .response(let response): print(response.status, response.expectedLength ?? -1)
            case .progress(let progress): print(progress.bytesReceived, progress.fraction ?? 0)
            case .finished(.file(let file)): print("done:", file.path)
            case .failed(let error): print("failed:", error)
            case .waiting(let reason): print(reason)
            case .data, .resumed, .sent, .finished(.data): break
            }
        }
        // end
    }

    static func stream() async throws -> Int {
        // snippet: events-stream
        let task = try TransferSession.shared.dataTask(for: "https://example.org/log.txt", collectsBody: false)
        let events = task.events
        task.resume()
        var lines = 0
        for await event in events {
            switch event {
            case .data(let bytes): lines += bytes.count { $0 == UInt8(ascii: "\n") }
            case .failed(let error): throw error
            case .response, .resumed, .progress, .sent, .waiting, .finished: break
            }
        }
        return lines
        // end
    }

    static func lines() async throws -> Int {
        // snippet: events-lines
        let (bytes, response) = try await TransferSession.shared.bytes(from: "https://example.org/log.txt")
        print(response.status)
        var errors = 0
        for try await line in bytes.lines where line.contains("ERROR") { errors += 1 }
        return errors
        // end
    }
}
