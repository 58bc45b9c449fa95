// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

struct RPCMethod: Sendable {
    /// Performs a call and returns its result.
    typealias Handler = @Sendable (RPCContext, RPCArguments) async throws(ControlError) -> JSON

    /// Returns the transfer that a call adds.
    typealias Adding = @Sendable (RPCContext, RPCArguments) throws(ControlError) -> PlacedTransfer

    /// The name with its prefix, such as `aria2.addUri`.
    let name: String
    /// Whether it may be called without a token.
    let isOpen: Bool
    /// Performs a call.
    let handler: Handler
    /// Returns the transfer to add if the method only adds one; consecutive such calls share a transaction.
    let adding: Adding?

    init(_ name: String, isOpen: Bool = false, _ handler: @escaping Handler) {
        self.name = name
        self.isOpen = isOpen
        self.handler = handler
        self.adding = nil
    }

    /// Creates a method that adds one transfer and returns its identifier.
    init(_ name: String, adding: @escaping Adding) {
        self.name = name
        self.isOpen = false
        self.handler = { context, arguments async throws(ControlError) in
            let added = try adding(context, arguments)
            let gids = try await context.service.add([added.transfer], at: added.position)
            guard let gid = gids.first else { throw ControlError(.unknown, "The transfer was not added") }
            return .string(gid.description)
        }
        self.adding = adding
    }

    /// Whether it is one of Martlet's own methods, which take named parameters and return errors with data.
    var isOwn: Bool { self.name.isOwnMethod }
}

extension String {
    /// Whether it names one of Martlet's own methods.
    var isOwnMethod: Bool { self.utf8.starts(with: "martlet.".utf8) }
}

/// The methods by name.
struct RPCMethods: Sendable {
    /// All methods, in the order of `system.listMethods`.
    let all: [RPCMethod]
    private let byName: [String: RPCMethod]

    init(_ groups: [[RPCMethod]]) {
        self.all = groups.flatMap { $0 }
        self.byName = Dictionary(self.all.map { ($0.name, $0) }) { first, _ in first }
    }

    subscript(name: String) -> RPCMethod? { self.byName[name] }

    /// All methods of the daemon.
    static let standard = RPCMethods([
        Aria2Adding.methods, Aria2Changing.methods, Aria2Listing.methods, Aria2Options.methods, Aria2Daemon.methods,
        SystemMethods.methods, OwnAdding.methods, OwnChanging.methods, OwnLimits.methods, OwnListing.methods,
        OwnRates.methods, OwnSessions.methods, OwnDaemon.methods,
    ])
}
