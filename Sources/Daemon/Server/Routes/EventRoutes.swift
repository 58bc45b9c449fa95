internal import Control
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServiceLifecycle

/// Routes for events, as server-sent events.
struct EventRoutes: Sendable {
    let server: ServerParts

    typealias Context = DaemonRequestContext

    /// Streams all events from now on.
    @Sendable
    func events(_ request: Request, _ context: Context) async throws -> Response {
        guard await self.server.isAuthenticated(request, context) else { return .unauthorized }
        let events = self.server.service.events(capacity: self.server.configuration.limits.events)
        let wanted = QueryItems(target: request.uri.string)["events"]
            .map { Set($0.split(separator: ",").map(String.init)) }
        return self.stream(events, context) { event in
            if let wanted, !wanted.contains(event.kind) { return [] }
            var bytes = Array("event: \(event.kind)\ndata: ".utf8)
            event.json.write(to: &bytes)
            bytes.append(contentsOf: "\n\n".utf8)
            return bytes
        }
    }

    /// Streams a background session's events after a number.
    @Sendable
    func sessionEvents(_ request: Request, _ context: Context) async throws -> Response {
        guard context.isLocal else {
            return Self.failure(
                ControlError(.forbidden, "a session's events are given over the Unix socket only", remedy: "use it")
            )
        }
        let query = QueryItems(target: request.uri.string)
        let name = QueryItems.decode(context.parameters.get("name") ?? "")
        let from = query["after"] ?? request.headers[.lastEventID] ?? "0"
        guard !name.isEmpty, let instance = query["instance"], let after = Int64(from), after >= 0 else {
            return Self.failure(
                ControlError(.badParameter, "instance or after is missing or malformed", remedy: "see Docs/rpc.md")
            )
        }
        do throws(ControlError) {
            let events = try await self.server.service.sessionEvents(name, instance: instance, after: after)
            return self.stream(events, context) { event in
                var bytes = event.number > 0 ? Array("id: \(event.number)\ndata: ".utf8) : Array("data: ".utf8)
                event.json.write(to: &bytes)
                bytes.append(contentsOf: "\n\n".utf8)
                return bytes
            }
        } catch {
            return Self.failure(error)
        }
    }

    /// Returns a response that streams until the events end, the peer disconnects, or the daemon stops.
    private func stream<Event: Sendable>(
        _ events: AsyncStream<Event>,
        _ context: Context,
        _ format: @escaping @Sendable (Event) -> [UInt8]
    ) -> Response {
        let metrics = self.server.metrics
        let channel = context.channel
        let body = ResponseBody { writer in
            metrics.eventStreamOpened(1)
            defer { metrics.eventStreamOpened(-1) }
            // Without events, only the channel's close reports that the reader has disconnected.
            let (open, openContinuation) = AsyncStream.makeStream(of: Never.self)
            channel.closeFuture.whenComplete { _ in openContinuation.finish() }
            let borrowed = BorrowedWriter(writer: writer)
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await event in events.cancelOnGracefulShutdown() {
                        do {
                            let bytes = format(event)
                            if !bytes.isEmpty { try await borrowed.write(ByteBuffer(bytes: bytes)) }
                        } catch {
                            return
                        }
                    }
                }
                group.addTask { for await _ in open {} }
                await group.next()
                group.cancelAll()
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-cache", .connection: "close"],
            body: body
        )
    }

    private static func failure(_ error: ControlError) -> Response {
        let status: HTTPResponse.Status =
            switch error.code {
            case .sessionInUse: .conflict
            case .notFound: .notFound
            case .badParameter: .badRequest
            case .forbidden: .forbidden
            case .stopping, .diskFull: .serviceUnavailable
            default: .internalServerError
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

/// A response's writer that one task uses while the owner waits for that task.
private final class BorrowedWriter: @unchecked Sendable {
    private var writer: any ResponseBodyWriter

    init(writer: any ResponseBodyWriter) { self.writer = writer }

    func write(_ buffer: ByteBuffer) async throws { try await self.writer.write(buffer) }
}

extension HTTPField.Name {
    /// The number of the last event that a reader has received.
    fileprivate static var lastEventID: Self { Self("Last-Event-ID") ?? .ifMatch }
}
