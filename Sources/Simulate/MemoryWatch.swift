// SPDX-License-Identifier: Apache-2.0
import Platform

/// Finds worlds that need much more memory than others, and memory that they leave.
struct MemoryWatch {
    /// The number of worlds after which most of what a world can need was needed once.
    private static let warmUp = 500
    /// The bytes that later worlds may need more.
    private static let tolerance = 256 << 20

    private var worlds = 0
    private var base: Int?

    /// A world has ended.
    ///
    /// - Returns: What is wrong, or `nil`.
    mutating func ended() -> String? {
        self.worlds += 1
        guard self.worlds % Self.warmUp == 0, let used = Self.peak else { return nil }
        guard let base else {
            self.base = used
            return nil
        }
        guard used - base > Self.tolerance else { return nil }
        self.base = used
        return "\((used - base) >> 20) MiB more were needed after \(self.worlds) worlds than after \(Self.warmUp)"
    }

    /// The most memory that the process has had, in bytes (getrusage(2)).
    private static var peak: Int? {
        var usage = rusage()
        #if canImport(Darwin)
        return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : nil
        #else
        return getrusage(ResourceUsage.ofProcess, &usage) == 0 ? usage.ru_maxrss << 10 : nil
        #endif
    }
}
