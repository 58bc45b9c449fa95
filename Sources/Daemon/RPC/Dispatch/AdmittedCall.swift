// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// The state of one message while its calls are performed.
struct RPCRun {
    /// The format of the message.
    var dialect = RPCDialect.json
    /// The sender.
    let caller: Caller
    /// The subscription of the sending WebSocket; `nil` for other connections.
    let subscription: EventSubscription?
    /// Whether a call had no token or a wrong one.
    var hasFailedAuthentication = false
    /// The time for which the client's tokens are not checked, or `nil` if they were.
    var refusal: Duration?
}

/// The format of a message, which determines the members of errors inside `system.multicall`.
enum RPCDialect: Sendable, Hashable {
    case json, xml
}

/// A call of an existing method by a permitted caller.
struct AdmittedCall: Sendable {
    let method: RPCMethod
    /// The parameters without the token.
    let parameters: RPCParameters
    let context: RPCContext

    /// Returns the arguments.
    ///
    /// - Throws: The failure of parameters that the method does not take.
    func arguments() throws(RPCFailure) -> RPCArguments {
        switch self.parameters {
        case .positional(let elements): return RPCArguments(elements)
        case .named(let object) where self.method.isOwn: return RPCArguments(named: object)
        case .named, .malformed: throw .invalidParameters
        }
    }

    /// Performs the call.
    func result() async -> Result<JSON, RPCFailure> {
        do throws(RPCFailure) {
            let arguments = try self.arguments()
            do throws(ControlError) {
                return .success(try await self.method.handler(self.context, arguments))
            } catch {
                throw RPCFailure(error)
            }
        } catch {
            return .failure(error)
        }
    }

    /// Returns the transfer to add, or the reason why it is refused; `nil` if the method does something else.
    func addition() -> Result<PlacedTransfer, RPCFailure>? {
        guard let adding = self.method.adding else { return nil }
        do throws(RPCFailure) {
            let arguments = try self.arguments()
            do throws(ControlError) {
                return .success(try adding(self.context, arguments))
            } catch {
                throw RPCFailure(error)
            }
        } catch {
            return .failure(error)
        }
    }
}

/// Transfers to be added in one transaction, and the failures between them, in the order of their calls.
struct PendingAdditions {
    struct Item {
        /// The call's index in its message.
        var index: Int
        /// The method, or `nil` if the call was refused before it.
        var method: RPCMethod?
        var entry: Result<PlacedTransfer, RPCFailure>
    }

    private(set) var items: [Item] = []

    mutating func append(_ entry: Result<PlacedTransfer, RPCFailure>, of method: RPCMethod?, _ index: Int) {
        self.items.append(Item(index: index, method: method, entry: entry))
    }
}
