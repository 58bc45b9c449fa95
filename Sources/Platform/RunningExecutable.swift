// SPDX-License-Identifier: Apache-2.0
/// The file from which this process was started.
package enum RunningExecutable {
    /// A path of the executable, which may contain symbolic links, or the link to it in /proc; `nil` if the system does
    /// not report it.
    ///
    /// Without /proc it may be relative to the directory in which the process was started.
    package static var path: String? {
        #if canImport(Darwin)
        var size: UInt32 = 4096
        var bytes = [CChar](repeating: 0, count: Int(size))
        guard _NSGetExecutablePath(&bytes, &size) == 0 else { return nil }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #else
        let link = "/proc/self/exe"
        if access(link, F_OK) == 0 { return link }
        // Without /proc: the name that was called, unless it was found in PATH.
        return InitialArguments.words?.first.flatMap { $0.contains("/") ? $0 : nil }
        #endif
    }
}
