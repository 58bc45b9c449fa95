// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import TransferCore

/// Runs the handler of a route in a task.
final class RouteHandler: RequestHandler {
    private var request: RoutedRequest
    private let collector: ContentCollector?
    private let handler: Router.Handler
    private var connection: (any RequestContext)?
    private var hasStarted = false

    /// - Parameters:
    ///   - request: The request.
    ///   - collector: The collector of its content; `nil` if the content is discarded.
    ///   - handler: The handler.
    init(_ request: RoutedRequest, _ collector: ContentCollector?, _ handler: @escaping Router.Handler) {
        self.request = request
        self.collector = collector
        self.handler = handler
    }

    func begin(_ connection: any RequestContext) {
        self.connection = connection
        guard let collector else { return self.start() }
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        do throws(ContentCollector.Refusal) {
            try collector.expect(self.request.request.head.contentLength) {
                bound.eventLoop.execute { if !bound.value.hasStarted { bound.value.refuse(.busy) } }
            }
        } catch {
            self.refuse(error)
        }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        guard !self.hasStarted, let collector else { return }
        do throws(ContentCollector.Refusal) {
            try collector.append(bytes)
        } catch {
            self.refuse(error)
        }
    }

    func ended() {
        guard !self.hasStarted, let collector else { return }
        self.request.content = .success(collector.content())
        self.start()
    }

    func lost() { self.connection = nil }

    /// Runs the handler, which responds to the refusal, before the content has ended.
    private func refuse(_ refusal: ContentCollector.Refusal) {
        self.collector?.release()
        self.request.content = .failure(refusal)
        self.start()
    }

    private func start() {
        guard let connection else { return }
        let (request, handler) = (self.request, self.handler)
        self.request.content = .success([])
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        self.hasStarted = true
        connection.task {
            let response = await handler(request)
            bound.eventLoop.execute { bound.value.finish(response) }
        }
    }

    private func finish(_ response: Response) {
        self.collector?.release()
        guard response.delay > .zero, let connection else { return self.respond(response) }
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        connection.eventLoop.scheduleTask(in: TimeAmount(response.delay)) { bound.value.respond(response) }
    }

    private func respond(_ response: Response) {
        let connection = self.connection
        self.connection = nil
        connection?.respond(response)
    }
}
