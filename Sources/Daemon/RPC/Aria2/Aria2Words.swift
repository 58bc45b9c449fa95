internal import Control

/// aria2's words for what went wrong: clients compare them.
extension RPCContext {
    /// The transfer that a parameter names, by its identifier or the beginning of one.
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

    /// The transfer that a parameter names, with what is known of it.
    func record(_ text: String) async throws(ControlError) -> TransferRecord {
        let gid = try await self.gid(text)
        do throws(ControlError) {
            return try await self.service.record(gid)
        } catch {
            throw Self.words(error, text)
        }
    }

    private static func words(_ error: ControlError, _ text: String) -> ControlError {
        switch error.code {
        case .notFound: ControlError(.notFound, "GID \(text) is not found")
        case .ambiguous: ControlError(.ambiguous, "GID \(text) is not unique")
        case .badParameter: ControlError(.badParameter, "Invalid GID \(text)")
        default: error
        }
    }

    /// Does something to one transfer; `cannot` is what is said where its state does not allow it.
    func perform(_ action: TransferAction, on text: String, cannot: (GID) -> String) async throws(ControlError) -> GID {
        let gid = try await self.gid(text)
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
    /// Whether it is a hexadecimal digit of either case.
    var isHexadecimal: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
