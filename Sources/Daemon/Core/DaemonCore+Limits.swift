// SPDX-License-Identifier: Apache-2.0
package import Control
internal import QueueStore
internal import Synchronization
internal import TransferCore

/// Connection limits of hosts, and the schedule.
extension DaemonCore {
    /// Sets the maximum number of connections to a host, given by name; `nil` removes the limit.
    package func setHostLimit(_ host: String, _ connections: Int?) async throws(ControlError) {
        let name = host.lowercased()
        guard !name.isEmpty, name.utf8.count <= 255, name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != 0x2F })
        else {
            throw ControlError(.badParameter, "'\(host.prefix(80))' is not a host name", remedy: "write it as in a URL")
        }
        if let connections, !(1...10_000).contains(connections) {
            throw ControlError(.badParameter, "'connections' is out of range", remedy: "give 1 to 10000, or null")
        }
        let result: Result<[String: Int], ControlError> = try await self.change(
            { (writer) throws(QueueStoreError) in
                let setting = SettingName.hostLimits.rawValue
                let stored = try writer.reader.setting(setting).flatMap { try? JSON(parsing: $0) }
                var limits: [String: Int] = [:]
                for member in stored?.object ?? [] {
                    limits[member.name] = member.value.integer.map { Int(clamping: $0) }
                }
                limits[name] = connections
                guard limits.count <= 10_000 else {
                    return .failure(
                        ControlError(.tooMuch, "10000 hosts already have limits", remedy: "remove some")
                    )
                }
                let json = JSON.object(
                    limits.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .integer(Int64($0.value))) }
                )
                try writer.setSetting(setting, json.text)
                return .success(limits)
            },
            then: { core, result in
                guard case .success(let limits) = result else { return }
                core.snapshot.withLock { $0.hostLimits = limits }
                for lane in core.lanes.values { lane.setHostLimits(limits) }
            }
        )
        _ = try result.get()
    }

    /// Sets the schedule; `nil` removes it.
    package func setSchedule(_ schedule: Schedule?) async throws(ControlError) {
        if let schedule {
            guard (0...1440).contains(schedule.start), (0...1440).contains(schedule.end),
                schedule.days.allSatisfy({ (0...6).contains($0) })
            else {
                throw ControlError(
                    .badParameter,
                    "the schedule contains an invalid time or day",
                    remedy: "give 00:00 to 24:00"
                )
            }
        }
        try await self.change(
            { (writer) throws(QueueStoreError) in
                try writer.setSetting(SettingName.schedule.rawValue, schedule?.stored.text)
            },
            then: { core, _ in
                core.snapshot.withLock { $0.schedule = schedule }
                core.lookAtSchedule()
            }
        )
    }
}
