// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Selects handlers by method and path.
///
/// A route is added with its path and a closure:
///
///     var router = Router(contentLimit: 1 << 20, budget: budget)
///     router.get("/hello") { request in
///         .page("<!DOCTYPE html><title>Hello</title><p>Hello, \(request.peer)</p>")
///     }
///     router.get("/users/:name") { request in
///         .message(200, "Hello, \(request["name"])")
///     }
///     router.post("/notes") { request in
///         guard case .success(let bytes) = request.content else { return .message(413, "too long") }
///         return .message(200, "got \(bytes.count) bytes")
///     }
///
/// A closure runs in a task, which continues if the client disconnects: a request that was received is performed. It is
/// cancelled if it still runs some time after the server was stopped. A component of a path that begins with a
/// colon matches any one component, which is not percent-decoded. The first route that matches is used; routes for GET
/// also serve HEAD. Without a route, the response is `notFound`.
package struct Router: Sendable {
    package typealias Handler = @Sendable (RoutedRequest) async -> Response

    private struct Route: Sendable {
        let method: String
        let path: String
        /// The components of a path with parameters; `nil` for one without, which is compared as a whole.
        let pattern: [Substring]?
        let takesContent: Bool
        let handler: Handler
    }

    private let contentLimit: Int
    private let budget: ByteBudget
    private let notFound: Response
    /// Returns the limits for a request's content until it authenticates its client; `nil` if the head does.
    package var screening: @Sendable (RoutedRequest) -> ContentScreening? = { _ in nil }
    private var routes: [Route] = []

    /// Creates a router without routes.
    ///
    /// - Parameters:
    ///   - contentLimit: The maximum size of a request's content in bytes.
    ///   - budget: The limit for the content of all requests together.
    ///   - notFound: The response if no route matches.
    package init(
        contentLimit: Int,
        budget: ByteBudget,
        notFound: Response = .message(404, "there is nothing at this path")
    ) {
        self.contentLimit = contentLimit
        self.budget = budget
        self.notFound = notFound
    }

    /// Adds a route for GET and HEAD.
    package mutating func get(_ path: String, _ handler: @escaping Handler) { self.on("GET", path, handler) }

    /// Adds a route for POST, whose content is received before the handler runs.
    package mutating func post(_ path: String, _ handler: @escaping Handler) {
        self.on("POST", path, takesContent: true, handler)
    }

    /// Adds a route.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path before percent-decoding.
    ///   - takesContent: Whether the content is received before the handler runs; otherwise it is discarded.
    ///   - handler: The handler.
    package mutating func on(
        _ method: String,
        _ path: String,
        takesContent: Bool = false,
        _ handler: @escaping Handler
    ) {
        self.routes.append(
            Route(
                method: method,
                path: path,
                pattern: path.contains(":") ? path.split(separator: "/", omittingEmptySubsequences: false) : nil,
                takesContent: takesContent,
                handler: handler
            )
        )
    }

    package func handler(for request: Request) -> any RequestHandler {
        let method = request.head.method == "HEAD" ? "GET" : request.head.method
        for route in self.routes where route.method == method {
            var parameters: [(name: Substring, value: Substring)] = []
            if let pattern = route.pattern {
                guard let found = Self.match(request.target.path, pattern) else { continue }
                parameters = found
            } else if request.target.path != route.path {
                continue
            }
            let request = RoutedRequest(request: request, parameters: parameters)
            guard route.takesContent else { return RouteHandler(request, nil, route.handler) }
            let collector = ContentCollector(
                limit: self.contentLimit,
                budget: self.budget,
                screening: self.screening(request)
            )
            return RouteHandler(request, collector, route.handler)
        }
        return ImmediateHandler(self.notFound)
    }

    /// The values of a pattern's parameters in a path, or `nil` if the path does not match.
    private static func match(_ path: Substring, _ pattern: [Substring]) -> [(name: Substring, value: Substring)]? {
        let components = path.split(separator: "/", omittingEmptySubsequences: false)
        guard components.count == pattern.count else { return nil }
        var parameters: [(name: Substring, value: Substring)] = []
        for (component, expected) in zip(components, pattern) {
            if expected.first == ":" {
                guard !component.isEmpty else { return nil }
                parameters.append((expected.dropFirst(), component))
            } else if component != expected {
                return nil
            }
        }
        return parameters
    }
}
