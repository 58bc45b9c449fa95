// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPServer
internal import TransferCore

/// Routes for events, as server-sent events.
struct EventRoutes: Sendable {
    let server: ServerParts

    /// Streams all events from now on.
    @Sendable
    func events(_ request: RoutedRequest) async -> Response {
        if let refusal = self.server.refusal(of: request) { return refusal }
        let kinds = QueryItems(target: request.target)["events"].map { $0.split(separator: ",") }
        let events = self.server.service.events(
            kinds.map { ServiceEvent.Interest(kinds: $0) } ?? .all,
            capacity: self.server.configuration.limits.events
        )
        return self.stream(events) { batch in
            var bytes: [UInt8] = []
            for event in batch {
                bytes.append(contentsOf: "event: \(event.kind)\ndata: ".utf8)
                event.json.write(to: &bytes)
                bytes.append(contentsOf: "\n\n".utf8)
            }
            return bytes
        }
    }

    /// Streams a background session's events after a number.
    @Sendable
    func sessionEvents(_ request: RoutedRequest) async -> Response {
        guard request.isLocal else {
            return Self.failure(
                ControlError(.forbidden, "a session's events are given over the Unix socket only", remedy: "use it")
            )
        }
        let query = QueryItems(target: request.target)
        let name = QueryItems.decode(request["name"])
        let from = query["after"] ?? request.fields["Last-Event-ID"] ?? "0"
        guard !name.isEmpty, let instance = query["instance"], let after = Int64(from), after >= 0 else {
            return Self.failure(
                ControlError(.badParameter, "instance or after is missing or malformed", remedy: "see Docs/rpc.md")
            )
        }
        do throws(ControlError) {
            let events = try await self.server.service.sessionEvents(name, instance: instance, after: after)
            return self.stream(events) { event in
                var bytes = event.number > 0 ? Array("id: \(event.number)\ndata: ".utf8) : Array("data: ".utf8)
                event.json.write(to: &bytes)
                bytes.append(contentsOf: "\n\n".utf8)
                return bytes
            }
        } catch {
            return Self.failure(error)
        }
    }

    /// Returns a response that streams until the events end, the client disconnects, or the daemon stops.
    private func stream<Event: Sendable>(
        _ events: AsyncStream<Event>,
        _ format: @escaping @Sendable (Event) -> [UInt8]
    ) -> Response {
        let metrics = self.server.metrics
        return .events(commentsEvery: self.server.configuration.limits.keepAlive) { writer in
            metrics.eventStreamOpened(1)
            defer { metrics.eventStreamOpened(-1) }
            // Firefox reports a stream as open only when its first bytes arrive.
            guard (try? await writer.write(Array(":\n\n".utf8))) != nil else { return }
            for await event in events {
                guard (try? await writer.write(format(event))) != nil else { return }
            }
        }
    }

    private static func failure(_ error: ControlError) -> Response {
        let status =
            switch error.code {
            case .sessionInUse: 409
            case .notFound: 404
            case .badParameter: 400
            case .forbidden: 403
            case .stopping, .diskFull: 503
            default: 500
            }
        return .json(
            status,
            [
                "reason": .string(error.code.rawValue), "message": .string(error.message),
                "remedy": .string(error.remedy),
            ]
        )
    }
}
