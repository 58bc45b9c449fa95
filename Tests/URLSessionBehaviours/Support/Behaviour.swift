// SPDX-License-Identifier: Apache-2.0

/// One countable behaviour of a URLSession: a closure that throws unless the session behaves as described.
///
/// The same text is compiled with FoundationNetworking (`FOUNDATION_SESSION`) and with MartletURLSession.
public struct Behaviour: Sendable {
    /// The description that a behaviour is from.
    public enum Source: Sendable {
        /// A test function of swift-corelibs-foundation's URLSession tests; the case is a new text.
        case corelibs(String)
        /// A page of Apple's documentation.
        case apple(String)
    }

    /// The name, which is unique.
    public let name: String
    /// The description that it is from.
    public let source: Source

    private let body: @Sendable (BehaviourContext) async throws -> Void

    init(_ name: String, _ source: Source, body: @escaping @Sendable (BehaviourContext) async throws -> Void) {
        self.name = name
        self.source = source
        self.body = body
    }

    /// Checks the behaviour with a server of its own.
    ///
    /// - Throws: ``BehaviourFailure`` if the session behaves differently, or the error of a call.
    public func run() async throws {
        let context = try BehaviourContext()
        try await self.body(context)
        context.close()
    }

    /// All behaviours, in groups.
    public static var all: [Behaviour] {
        self.dataTasks + self.responses + self.requests + self.downloads + self.resumption + self.uploads
            + self.streamedBodies + self.redirects + self.redirectLimits + self.authentication + self.cookies
            + self.caching + self.timeouts + self.configurations + self.cancellation + self.sessions + self.delegates
            + self.customProtocols + self.asynchronous + self.properties + self.observation + self.background
    }
}

extension Behaviour.Source: CustomStringConvertible {
    /// The kind of source, such as `corelibs`.
    public var kind: String {
        switch self {
        case .corelibs: "corelibs"
        case .apple: "apple"
        }
    }

    /// The function or the page.
    public var reference: String {
        switch self {
        case .corelibs(let reference), .apple(let reference): reference
        }
    }

    /// The kind and the function or page.
    public var description: String { "\(self.kind): \(self.reference)" }
}

/// A difference between a session's behaviour and the description.
public struct BehaviourFailure: Error, CustomStringConvertible {
    /// The difference.
    public let description: String

    /// Creates a failure.
    public init(_ description: String) { self.description = description }

    /// A failure because the API does not exist, so that a program with it does not compile.
    static func doesNotCompile(_ api: String) -> BehaviourFailure {
        BehaviourFailure("does not compile: \(api) is not available")
    }
}
