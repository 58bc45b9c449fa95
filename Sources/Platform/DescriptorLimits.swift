// SPDX-License-Identifier: Apache-2.0
/// The limits of open files of the process (getrlimit(2), `RLIMIT_NOFILE`).
package enum DescriptorLimits {
    #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    private static let resource = RLIMIT_NOFILE
    #endif

    /// The soft and the hard limit, or `nil` if they are unknown.
    package static var current: (soft: Int, hard: Int)? {
        var limit = rlimit()
        guard getrlimit(self.resource, &limit) == 0 else { return nil }
        return (Int(clamping: limit.rlim_cur), Int(clamping: limit.rlim_max))
    }

    /// Raises the soft limit to the hard limit, because many connections and files are open at once.
    ///
    /// - Returns: The resulting soft limit; `Int.max` if it is unknown.
    @discardableResult
    package static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(self.resource, &limit) == 0 else { return .max }
        if limit.rlim_cur < limit.rlim_max {
            let soft = limit.rlim_cur
            limit.rlim_cur = limit.rlim_max
            if setrlimit(self.resource, &limit) != 0 { limit.rlim_cur = soft }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
