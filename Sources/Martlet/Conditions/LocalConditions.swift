// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import Files

/// The conditions as reported by Linux: `/sys/class/power_supply`, and the device of the default route.
///
/// The machine is on battery if a battery is discharging and no mains supply is online. The network is expensive if the
/// default route uses a mobile modem (a device of type `wwan`, or PPP). On other systems, and if nothing can be read,
/// neither is the case.
public struct LocalConditions: SystemConditions {
    private let root: String

    /// Creates the conditions of this machine.
    public init() { self.init(root: "") }

    /// - Parameter root: A prefix of `/sys` and `/proc`, for tests.
    init(root: String) { self.root = root }

    /// Whether the machine runs on battery.
    public var isOnBattery: Bool {
        let supplies = self.root + "/sys/class/power_supply"
        var discharges = false
        for name in Self.entries(supplies) {
            let supply = supplies + "/" + name
            switch self.text(supply + "/type") {
            case "Mains", "USB": if self.text(supply + "/online") == "1" { return false }
            case "Battery": if self.text(supply + "/status") == "Discharging" { discharges = true }
            default: break
            }
        }
        return discharges
    }

    /// Whether the network is metered.
    public var isNetworkExpensive: Bool {
        let routes = self.text(self.root + "/proc/net/route").split(separator: "\n").dropFirst()
        for route in routes {
            let columns = route.split(whereSeparator: \.isWhitespace)
            guard columns.count > 1, columns[1] == "00000000" else { continue }
            let device = columns[0]
            if device.hasPrefix("ppp") || device.hasPrefix("wwan") { return true }
            return self.text(self.root + "/sys/class/net/\(device)/uevent").contains("DEVTYPE=wwan")
        }
        return false
    }

    private func text(_ path: String) -> String {
        guard let bytes = try? AtomicFile.read(path, atMost: 1 << 16) else { return "" }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    private static func entries(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
