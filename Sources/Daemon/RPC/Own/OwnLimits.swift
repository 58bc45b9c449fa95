// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// Martlet's own methods for limits and the schedule.
enum OwnLimits {
    static let methods = [
        RPCMethod("martlet.limits") { context, _ async throws(ControlError) in
            let hosts = context.service.hostLimits.sorted { $0.key < $1.key }
            return [
                "options": OptionDefaults.json(global: context.service.globalOptions, directory: context.directory),
                "hosts": .object(hosts.map { JSON.Member($0.key, .integer(Int64($0.value))) }),
                "schedule": context.service.schedule?.json ?? .null,
            ]
        },
        RPCMethod("martlet.setLimits") { context, arguments async throws(ControlError) in
            guard let json = try arguments.optionalObject(named: "options") else {
                throw ControlError(.badParameter, "\"options\" is missing", remedy: "give an object")
            }
            try await Aria2Options.changeGlobal(json, context)
            return .object([])
        },
        RPCMethod("martlet.setHostLimit") { context, arguments async throws(ControlError) in
            let host = try arguments.string(named: "host")
            guard (1...255).contains(host.utf8.count), host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != 0x2F })
            else {
                throw ControlError(.badParameter, "\"host\" is not a host name", remedy: "give a name or an address")
            }
            let connections = try arguments.optionalInteger(named: "connections")
            if let connections, !(1...10_000).contains(connections) {
                throw ControlError(
                    .badParameter,
                    "\"connections\" is \(connections)",
                    remedy: "give 1 to 10000, or null"
                )
            }
            try await context.service.setHostLimit(host.lowercased(), connections.map { Int($0) })
            return .object([])
        },
        RPCMethod("martlet.schedule") { context, arguments async throws(ControlError) in
            try await context.service.setSchedule(try Schedule(arguments))
            return .object([])
        },
    ]
}

extension Schedule {
    private static let dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

    /// Parses the parameters of `martlet.schedule`; `nil`, which removes the schedule, if there are none.
    fileprivate init?(_ arguments: RPCArguments) throws(ControlError) {
        if !arguments.has("start"), !arguments.has("end"), !arguments.has("days") { return nil }
        var days: Set<Int> = []
        for name in try arguments.optionalStrings(named: "days") ?? [] {
            guard let day = Self.dayNames.firstIndex(of: name.lowercased()) else {
                throw ControlError(
                    .badParameter,
                    "\"\(name.prefix(64))\" is not a day",
                    remedy: "give \(Self.dayNames.joined(separator: ", "))"
                )
            }
            days.insert(day)
        }
        self.init(
            start: try Self.minutes(try arguments.string(named: "start")),
            end: try Self.minutes(try arguments.string(named: "end")),
            days: days
        )
    }

    private static func minutes(_ text: String) throws(ControlError) -> Int {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == 0x3A,
            [0, 1, 3, 4].allSatisfy({ bytes[$0] >= 0x30 && bytes[$0] <= 0x39 }),
            let hour = Int(text.prefix(2)), hour < 24, let minute = Int(text.suffix(2)), minute < 60
        else {
            throw ControlError(.badParameter, "\"\(text.prefix(64))\" is not a time of day", remedy: "write HH:MM")
        }
        return hour * 60 + minute
    }

    /// The schedule as `martlet.limits` returns it.
    fileprivate var json: JSON {
        func text(_ minutes: Int) -> JSON {
            let hour = minutes / 60
            let minute = minutes % 60
            return .string("\(hour < 10 ? "0" : "")\(hour):\(minute < 10 ? "0" : "")\(minute)")
        }
        let names = self.days.sorted().filter { Self.dayNames.indices.contains($0) }.map { Self.dayNames[$0] }
        return ["start": text(self.start), "end": text(self.end), "days": .array(names.map { .string($0) })]
    }
}
