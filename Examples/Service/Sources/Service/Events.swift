// SPDX-License-Identifier: Apache-2.0
// Server-sent events: the newest state of each job that has changed, five times a second.
import Foundation
import Hummingbird
import ServiceLifecycle
import Synchronization

/// The order in which the jobs last changed.
///
/// It has one number for each job, however many changes a job has and however slow a reader of events is: a slow reader
/// skips states, delays no transfer and uses no further memory.
final class Changes: Sendable {
    private struct State {
        /// Starts with the time in microseconds: the numbers of an earlier run of the service are all lower.
        var last = Int(Date.now.timeIntervalSince1970 * 1e6)
        var numbers: [String: Int] = [:]
    }

    private let state = Mutex(State())

    func note(_ id: String) {
        self.state.withLock { state in
            state.last += 1
            state.numbers[id] = state.last
        }
    }

    /// The jobs that have changed after the change of a number, in order; all jobs for an unknown number.
    func after(_ number: Int) -> [(id: String, number: Int)] {
        let state = self.state.withLock { $0 }
        guard number != state.last else { return [] }
        let first = number < state.last ? number : 0
        return state.numbers.filter { $0.value > first }.sorted { $0.value < $1.value }.map { ($0.key, $0.value) }
    }
}

extension Jobs {
    private static let encoder = JSONEncoder()

    /// Streams events until the client leaves or the service stops.
    ///
    /// A stream starts with the states of all jobs; that of a client that connects again, with those that have changed
    /// since its last event.
    func events(_ request: Request, _ context: BasicRequestContext) -> Response {
        let seen = request.headers.first { $0.name.canonicalName == "last-event-id" }.flatMap { Int($0.value) } ?? 0
        let fields: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
        let body = ResponseBody { writer in
            try await request.body.consumeWithCancellationOnInboundClose { _ in
                try await self.stream(after: seen, to: &writer)
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: fields, body: body)
    }

    private func stream(after number: Int, to writer: inout any ResponseBodyWriter) async throws {
        try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
        var (seen, written) = (number, ContinuousClock.now)
        while !Task.isShuttingDownGracefully {
            for change in self.changes.after(seen) {
                try await writer.write(self.event(change.id, change.number))  // waits for a slow reader
                (seen, written) = (change.number, .now)
            }
            if .now - written > .seconds(15) {
                try await writer.write(ByteBuffer(string: ": heartbeat\n\n"))
                written = .now
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private func event(_ id: String, _ number: Int) throws -> ByteBuffer {
        guard let download = self.list.download(id: id) else {
            return ByteBuffer(string: "id: \(number)\nevent: removed\ndata: {\"id\":\"\(id)\"}\n\n")
        }
        let data = String(decoding: try Self.encoder.encode(Job(download)), as: UTF8.self)
        return ByteBuffer(string: "id: \(number)\nevent: job\ndata: \(data)\n\n")
    }
}
