// SPDX-License-Identifier: Apache-2.0
/// A Unix socket on which a D-Bus message bus listens.
///
/// - Source: D-Bus Specification 0.42, "Server Addresses".
package enum DBusAddress: Hashable, Sendable {
    /// A socket in the file system.
    case path(String)
    /// A name in Linux's abstract namespace.
    case abstract(String)

    /// Parses the addresses of a bus, in the order in which they are to be tried.
    ///
    /// - Parameters:
    ///   - text: Addresses separated by semicolons, such as `unix:path=/run/user/1000/bus,guid=…`. Those with another
    ///     transport, or that are malformed, are left out.
    ///   - runtimeDirectory: The value of `XDG_RUNTIME_DIR`, for `unix:runtime=yes`.
    /// - Returns: The addresses.
    package static func all(in text: String, runtimeDirectory: String? = nil) -> [DBusAddress] {
        text.split(separator: ";").compactMap { self.address($0, runtimeDirectory) }
    }

    private static func address(_ text: Substring, _ runtimeDirectory: String?) -> DBusAddress? {
        guard text.hasPrefix("unix:") else { return nil }
        var found: DBusAddress?
        for pair in text.dropFirst("unix:".count).split(separator: ",") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let value = self.unescaped(parts[1]), !value.isEmpty else { return nil }
            switch parts[0] {
            case "path" where value.hasPrefix("/"): found = .path(value)
            case "abstract": found = .abstract(value)
            case "runtime":
                guard value == "yes", let runtimeDirectory, runtimeDirectory.hasPrefix("/") else { return nil }
                found = .path(runtimeDirectory + "/bus")
            case "guid": break
            default: return nil
            }
        }
        return found
    }

    /// Decodes `%XX`; `nil` if an escape is incomplete or the value is not UTF-8 without zero bytes.
    private static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == 0x25 else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(PercentEncoding.value),
                let low = rest.popFirst().flatMap(PercentEncoding.value)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
    }
}
