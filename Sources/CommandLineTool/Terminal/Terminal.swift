#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What the process's surroundings tell about where output goes.
enum Terminal {
    /// Whether a descriptor is a terminal that moves its cursor.
    static func isInteractive(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1 && self.environment("TERM") != "dumb" && self.environment("TERM") != nil
    }

    /// The terminal's size, or 80 by 24 where it does not tell.
    static func size(_ descriptor: Int32) -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
        return (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : 24)
    }

    /// Whether colours are welcome.
    ///
    /// - Source: no-color.org.
    static var allowsColour: Bool { (self.environment("NO_COLOR") ?? "").isEmpty }

    /// Whether the locale's characters are Unicode's.
    static var isUnicode: Bool {
        for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
            guard let value = self.environment(name), !value.isEmpty else { continue }
            return value.lowercased().contains("utf-8") || value.lowercased().contains("utf8")
        }
        return false
    }

    private static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
