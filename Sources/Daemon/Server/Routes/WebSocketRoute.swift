// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPServer
internal import TransferCore

/// Serves JSON-RPC and notifications on WebSockets.
///
/// Messages are handled one at a time. If the client does not read, the writer waits and events accumulate in the
/// service, which ends the sequence when there are too many; then the socket is closed.
struct WebSocketRoute: Sendable {
    let server: ServerParts

    /// Accepts a valid handshake.
    func open(_ request: RoutedRequest) -> Response {
        let limits = self.server.configuration.limits
        let caller = self.server.caller(request)
        return .webSocket(
            request.request,
            WebSocketUpgrade(
                limit: request.isLocal ? limits.localBody : limits.body,
                keepAlive: limits.keepAlive,
                stall: limits.stallTime,
                screening: self.server.screening(request, isAuthenticated: caller.isAuthenticated)
            ) { socket in
                await self.serve(socket, request, caller)
            }
        )
    }

    private func serve(_ socket: WebSocket, _ request: RoutedRequest, _ caller: Caller) async {
        self.server.metrics.webSocketOpened(1)
        defer { self.server.metrics.webSocketOpened(-1) }
        let (streams, streamsContinuation) = AsyncStream.makeStream(
            of: AsyncStream<[ServiceEvent]>.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        // The event stream is created synchronously with the subscription, so that no later event is missed.
        let subscription = EventSubscription(isAuthenticated: caller.isAuthenticated || self.isOpen(to: request)) {
            let capacity = self.server.configuration.limits.events
            streamsContinuation.yield(self.server.service.events(.all, capacity: capacity))
            streamsContinuation.finish()
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await events in streams { await self.notify(events, subscription, socket) }
            }
            await socket.receive { bytes in
                let answer = await self.server.dispatcher.answer(
                    RPCEnvelope(parsing: bytes),
                    from: caller,
                    subscription: subscription
                )
                if answer.hasFailedAuthentication {
                    let isRefused = answer.refusal != nil
                    try await Task.sleep(for: self.server.failedAuthentication(request, isRefused: isRefused))
                }
                try await socket.send(answer.bytes)
            }
            group.cancelAll()
        }
    }

    /// Whether a client receives aria2's notifications before a call with a token.
    private func isOpen(to request: RoutedRequest) -> Bool {
        self.server.configuration.allowsOpenNotifications
            && (request.peer == "::1" || request.peer.hasPrefix("127.") || request.peer.hasPrefix("::ffff:127."))
    }

    private func notify(
        _ events: AsyncStream<[ServiceEvent]>,
        _ subscription: EventSubscription,
        _ socket: WebSocket
    ) async {
        for await batch in events {
            for message in batch.flatMap({ subscription.messages(for: $0) }) {
                guard (try? await socket.send(message.bytes)) != nil else { return }
            }
        }
        guard !Task.isCancelled else { return }
        // The client read too slowly, or the service has stopped.
        await socket.close(1013)
    }
}
