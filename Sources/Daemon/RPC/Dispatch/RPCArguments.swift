// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// The arguments of a call; errors about positional ones have aria2's messages.
struct RPCArguments: Sendable {
    /// The positional arguments, without the token.
    let positional: [JSON]
    /// The named arguments, an object, which Martlet's own methods use; empty if there are none.
    let named: JSON

    init(_ positional: [JSON]) {
        self.positional = positional
        if case .object? = positional.first { self.named = positional[0] } else { self.named = .object([]) }
    }

    init(named: JSON) {
        self.positional = []
        self.named = named
    }

    private func value(_ place: Int) -> JSON? {
        self.positional.indices.contains(place) ? self.positional[place] : nil
    }

    private func required<T>(_ place: Int, _ read: (JSON) -> T?) throws(ControlError) -> T {
        guard let value = self.value(place) else {
            throw ControlError(.badParameter, "The parameter at \(place) is required but missing.")
        }
        guard let result = read(value) else { throw Self.wrongType(place) }
        return result
    }

    private func optional<T>(_ place: Int, _ read: (JSON) -> T?) throws(ControlError) -> T? {
        guard let value = self.value(place) else { return nil }
        guard let result = read(value) else { throw Self.wrongType(place) }
        return result
    }

    private static func wrongType(_ place: Int) -> ControlError {
        ControlError(.badParameter, "The parameter at \(place) has wrong type.")
    }

    func string(_ place: Int) throws(ControlError) -> String { try self.required(place, \.string) }
    func array(_ place: Int) throws(ControlError) -> [JSON] { try self.required(place, \.array) }
    func integer(_ place: Int) throws(ControlError) -> Int64 { try self.required(place, \.integer) }
    func optionalInteger(_ place: Int) throws(ControlError) -> Int64? { try self.optional(place, \.integer) }

    func integer(_ place: Int, atLeast least: Int64) throws(ControlError) -> Int {
        let value = try self.integer(place)
        guard value >= least else {
            throw ControlError(
                .badParameter,
                "The integer parameter at \(place) has invalid value: "
                    + "the value must be greater than or equal to \(least)."
            )
        }
        return Int(clamping: value)
    }

    /// Returns the options, an object, or `nil` if the argument is missing.
    func optionalOptions(_ place: Int) throws(ControlError) -> JSON? {
        try self.optional(place) { $0.object == nil ? nil : $0 }
    }

    /// Returns the options, an object, which are required.
    func options(_ place: Int) throws(ControlError) -> JSON {
        try self.required(place) { $0.object == nil ? nil : $0 }
    }

    /// Returns the requested keys of a status; `nil` means all, as does an empty list.
    func keys(_ place: Int) throws(ControlError) -> Set<String>? {
        guard let elements = try self.optional(place, \.array) else { return nil }
        let keys = elements.compactMap(\.string)
        return keys.isEmpty ? nil : Set(keys)
    }
}
