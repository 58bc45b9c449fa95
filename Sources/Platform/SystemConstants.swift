// SPDX-License-Identifier: Apache-2.0
/// The types of sockets, which are an enumeration in one C library and numbers in another.
package enum SocketType {
    #if canImport(Glibc)
    package static let stream = Int32(SOCK_STREAM.rawValue)
    package static let datagram = Int32(SOCK_DGRAM.rawValue)
    #else
    package static let stream = SOCK_STREAM
    package static let datagram = SOCK_DGRAM
    #endif
}

/// Arguments of getrusage(2).
package enum ResourceUsage {
    #if canImport(Glibc)
    package static let ofProcess = RUSAGE_SELF.rawValue
    #else
    package static let ofProcess = RUSAGE_SELF
    #endif
}

/// Numbers of clocks for clock_gettime(3).
package enum ClockNumber {
    #if canImport(Darwin)
    /// A monotonic clock that is read fast and advances in steps of milliseconds.
    package static let coarse = CLOCK_MONOTONIC_RAW_APPROX
    #else
    /// A monotonic clock that is read fast and advances in steps of milliseconds.
    package static let coarse = CLOCK_MONOTONIC_COARSE
    #endif
}

/// Errors of getaddrinfo(3).
package enum AddressInfoError {
    /// Whether an error means that the name has no address; other errors are failures of the resolution.
    package static func isUnknownName(_ code: Int) -> Bool {
        // EAI_NODATA and EAI_ADDRFAMILY, which Glibc declares only with _GNU_SOURCE.
        #if canImport(Glibc)
        let others = [-5, -9]
        #else
        let others = [7, 1]
        #endif
        return code == Int(EAI_NONAME) || others.contains(code)
    }
}

/// Settings of the C library's memory allocator.
package enum MemoryAllocator {
    /// Limits the number of arenas of Glibc: each thread retains the memory that it has freed in its own one.
    package static func limitArenas(to count: Int32) {
        #if canImport(Glibc)
        typealias Option = @convention(c) (Int32, Int32) -> Int32
        // M_ARENA_MAX of mallopt(3), which the Glibc module does not export.
        _ = unsafeBitCast(dlsym(nil, "mallopt"), to: Option?.self)?(-8, count)
        #endif
    }
}
