// SPDX-License-Identifier: Apache-2.0
internal import Control

/// Lookups and actions whose errors have aria2's messages, which clients compare.
extension RPCContext {
    /// Returns the identifier of the transfer that a parameter names by its identifier or a prefix.
    func gid(_ text: String) async throws(ControlError) -> GID {
        guard (1...16).contains(text.utf8.count), text.utf8.allSatisfy({ $0.isHexadecimal }) else {
            throw ControlError(.badParameter, "Invalid GID \(text.prefix(64))")
        }
        do throws(ControlError) {
            return try await self.service.resolve(text.lowercased())
        } catch {
            throw Self.words(error, text)
        }
    }

    /// Returns the record of the transfer that a parameter names, without its position.
    func record(_ text: String) async throws(ControlError) -> TransferRecord {
        let gid = try await self.named(text)
        do throws(ControlError) {
            return try await self.service.record(gid, withPosition: false)
        } catch {
            throw Self.words(error, text)
        }
    }

    /// The identifier that a parameter names; a whole one need not be that of a transfer.
    private func named(_ text: String) async throws(ControlError) -> GID {
        if let whole = GID(text) { return whole }
        return try await self.gid(text)
    }

    private static func words(_ error: ControlError, _ text: String) -> ControlError {
        switch error.code {
        case .notFound: ControlError(.notFound, "GID \(text) is not found")
        case .ambiguous: ControlError(.ambiguous, "GID \(text) is not unique")
        case .badParameter: ControlError(.badParameter, "Invalid GID \(text)")
        default: error
        }
    }

    /// Performs an action on one transfer; `cannot` returns the message if its state does not allow the action.
    func perform(_ action: TransferAction, on text: String, cannot: (GID) -> String) async throws(ControlError) -> GID {
        let gid = try await self.named(text)
        do throws(ControlError) {
            try await self.service.perform(action, on: .ids([gid]))
        } catch {
            switch error.code {
            case .wrongState: throw ControlError(.wrongState, cannot(gid))
            case .notFound: throw ControlError(.notFound, "GID \(text) is not found")
            default: throw error
            }
        }
        return gid
    }
}

extension UInt8 {
    /// Whether the byte is a hexadecimal digit of either case.
    var isHexadecimal: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
