internal import Control

/// One method.
struct RPCMethod: Sendable {
    /// Does the call.
    typealias Handler = @Sendable (RPCContext, RPCArguments) async throws(ControlError) -> JSON

    /// Its name, with the prefix.
    let name: String
    /// Whether it may be called without a token.
    let isOpen: Bool
    /// Does the call.
    let handler: Handler

    init(_ name: String, isOpen: Bool = false, _ handler: @escaping Handler) {
        self.name = name
        self.isOpen = isOpen
        self.handler = handler
    }

    /// Whether it is one of Martlet's own: named parameters, and errors with data.
    var isOwn: Bool { self.name.utf8.starts(with: "martlet.".utf8) }
}

/// The methods by name.
struct RPCMethods: Sendable {
    /// In the order in which they are listed.
    let all: [RPCMethod]
    private let byName: [String: RPCMethod]

    init(_ groups: [[RPCMethod]]) {
        self.all = groups.flatMap { $0 }
        self.byName = Dictionary(self.all.map { ($0.name, $0) }) { first, _ in first }
    }

    subscript(name: String) -> RPCMethod? { self.byName[name] }

    /// Everything the daemon answers.
    static let standard = RPCMethods([
        Aria2Adding.methods, Aria2Changing.methods, Aria2Listing.methods, Aria2Options.methods, Aria2Daemon.methods,
        SystemMethods.methods, OwnAdding.methods, OwnChanging.methods, OwnLimits.methods, OwnListing.methods,
        OwnSessions.methods, OwnDaemon.methods,
    ])
}
