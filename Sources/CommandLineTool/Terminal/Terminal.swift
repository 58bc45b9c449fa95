// SPDX-License-Identifier: Apache-2.0
import Platform

/// Properties of the terminal and the locale.
enum Terminal {
    /// Whether a descriptor is a terminal that supports cursor movement.
    static func isInteractive(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1 && self.environment("TERM") != "dumb" && self.environment("TERM") != nil
    }

    /// The terminal's size, or 80 by 24 if it is unknown.
    static func size(_ descriptor: Int32) -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
        return (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : 24)
    }

    /// Whether colours may be used.
    ///
    /// - Source: no-color.org.
    static var allowsColour: Bool { (self.environment("NO_COLOR") ?? "").isEmpty }

    /// Whether the locale's encoding is UTF-8.
    static var isUnicode: Bool {
        for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
            guard let value = self.environment(name), !value.isEmpty else { continue }
            let name = value.lowercased().utf8.filter { $0 != UInt8(ascii: "-") }
            return name.indices.contains { name[$0...].starts(with: "utf8".utf8) }
        }
        return false
    }

    private static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
