internal import Platform

/// The modification times of files.
package enum FileTime {
    /// The modification time of a regular file in seconds since 1970; `nil` if the path is not one.
    package static func modified(_ path: String) -> Int64? {
        var facts = stat()
        guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        #if canImport(Darwin)
        return Int64(facts.st_mtimespec.tv_sec)
        #else
        return Int64(facts.st_mtim.tv_sec)
        #endif
    }

    /// The modification time in seconds since 1970, with its fraction.
    static func modified(_ facts: stat) -> Double {
        #if canImport(Darwin)
        Double(facts.st_mtimespec.tv_sec) + Double(facts.st_mtimespec.tv_nsec) / 1e9
        #else
        Double(facts.st_mtim.tv_sec) + Double(facts.st_mtim.tv_nsec) / 1e9
        #endif
    }
}
