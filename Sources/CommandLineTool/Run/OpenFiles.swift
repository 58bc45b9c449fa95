#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The limit on open descriptors.
enum OpenFiles {
    /// Raises the soft limit to the hard one: many connections and files are open at once.
    static func raiseLimit() {
        var limit = rlimit()
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(resource, &limit)
    }
}
