// SPDX-License-Identifier: Apache-2.0
package import Platform

/// The modification times of files.
package enum FileTime {
    /// The modification time of a regular file in seconds since 1970; `nil` if the path is not one.
    package static func modified(_ path: String) -> Int64? {
        var facts = stat()
        guard FileCalls.stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(facts.modificationTime.tv_sec)
    }

    /// The modification time in seconds since 1970, with its fraction.
    package static func modified(_ facts: stat) -> Double {
        Double(facts.modificationTime.tv_sec) + Double(facts.modificationTime.tv_nsec) / 1e9
    }
}
