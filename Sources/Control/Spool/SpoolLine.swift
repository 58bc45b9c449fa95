// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// One line of a session's spool: a call for the daemon, or the numbers of calls to which it has responded.
///
/// The first line of a spool is the call `martlet.openSession`, without a number.
package enum SpoolLine: Sendable, Hashable {
    case call(SpooledCall)
    /// The daemon has responded to the calls with these numbers.
    case answered([Int64])

    package var json: JSON {
        switch self {
        case .call(let call):
            return [
                "n": .integer(call.number), "key": .string(call.key), "method": .string(call.method),
                "params": call.parameters,
            ]
        case .answered(let numbers): return ["answered": .array(numbers.map { .integer($0) })]
        }
    }

    /// Reads the format of ``json``; `nil` if it has another form.
    package init?(json: JSON) {
        if let numbers = json["answered"]?.array {
            self = .answered(numbers.compactMap(\.integer))
            return
        }
        guard let number = json["n"]?.integer, let key = json["key"]?.string, let method = json["method"]?.string
        else { return nil }
        self = .call(SpooledCall(number: number, key: key, method: method, parameters: json["params"] ?? .null))
    }
}

/// A call in a session's spool.
package struct SpooledCall: Sendable, Hashable {
    /// The number, increasing from 1; 0 for the opening of the session.
    package var number: Int64
    /// The setting that the call changes: of several calls with one key, the last one counts.
    package var key: String
    /// The RPC method.
    package var method: String
    package var parameters: JSON

    /// Creates a call.
    package init(number: Int64, key: String, method: String, parameters: JSON) {
        self.number = number
        self.key = key
        self.method = method
        self.parameters = parameters
    }
}

/// The calls of a spool whose program has ended.
///
/// Pure value. The bytes may end at any place, because the program may have been killed while it wrote.
package struct SpoolContents: Sendable, Hashable {
    /// The parameters with which the program opened its session; `nil` if the spool has no calls.
    package private(set) var opening: JSON?
    /// The calls to which the daemon has not responded, in order.
    package private(set) var calls: [SpooledCall] = []
    /// The number of invalid lines, other than an incomplete last one.
    package private(set) var unreadable = 0

    /// Reads a spool's bytes.
    package init(parsing bytes: some Collection<UInt8>) {
        var answered: Set<Int64> = []
        var all: [SpooledCall] = []
        var latest: [String: Int64] = [:]
        var rest = bytes[...]
        // A line without its end is incomplete: the call that wrote it has not returned.
        while let end = rest.firstIndex(of: 0x0A) {
            let line = rest[..<end]
            rest = rest[rest.index(after: end)...]
            guard let json = try? JSON(parsing: line), let parsed = SpoolLine(json: json) else {
                self.unreadable += 1
                continue
            }
            switch parsed {
            case .answered(let numbers): answered.formUnion(numbers)
            case .call(let call):
                guard call.number > 0 else {
                    self.opening = call.parameters
                    continue
                }
                all.append(call)
                latest[call.key] = call.number
            }
        }
        guard self.opening != nil else { return }
        self.calls = all.filter { latest[$0.key] == $0.number && !answered.contains($0.number) }
    }
}
