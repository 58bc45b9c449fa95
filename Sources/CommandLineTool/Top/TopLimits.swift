// SPDX-License-Identifier: Apache-2.0
import Control
import TransferCore

/// The limits of the queue, as `martlet.limits` returns them.
struct TopLimits: Equatable, Sendable {
    /// The total rate in bytes per second; 0 for none.
    var rate: Int64 = 0
    /// The number of concurrent transfers.
    var concurrent = 0
    /// The number of connections by host, in the order of the names.
    var hosts: [Host] = []
    /// The hours in which transfers run; `nil` for always.
    var schedule: String?

    struct Host: Equatable, Sendable {
        var name: String
        var connections: Int64
    }

    init() {}

    /// Reads the result of `martlet.limits`.
    init(json: JSON) {
        func number(_ option: OptionName) -> Int64 {
            let value = json["options"]?[option.rawValue]
            return value?.integer ?? value?.string.flatMap { Int64($0) } ?? 0
        }
        self.rate = max(0, number(.maxOverallDownloadLimit))
        self.concurrent = Int(clamping: max(0, number(.maxConcurrentDownloads)))
        self.hosts = (json["hosts"]?.object ?? []).map { Host(name: $0.name, connections: $0.value.integer ?? 0) }
        guard let schedule = json["schedule"], !schedule.isNull else { return }
        let days = schedule["days"]?.array?.compactMap(\.string) ?? []
        self.schedule =
            "\(schedule["start"]?.string ?? "")-\(schedule["end"]?.string ?? "")"
            + (days.isEmpty ? "" : " " + days.joined(separator: ","))
    }
}
