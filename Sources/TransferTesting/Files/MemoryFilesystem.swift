// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// A small filesystem in memory, for tests of full disks.
package enum MemoryFilesystem {
    /// Mounts one (a tmpfs of Linux); needs root, and a kernel or container that permits mount(2).
    ///
    /// - Parameters:
    ///   - path: An existing directory.
    ///   - size: The size as the option of tmpfs(5), such as `256k`.
    /// - Returns: Whether it is mounted; never on other systems.
    package static func mount(_ path: String, size: String) -> Bool {
        #if os(Linux)
        geteuid() == 0 && Platform.mount("tmpfs", path, "tmpfs", 0, "size=\(size)") == 0
        #else
        false
        #endif
    }

    /// Unmounts it, also while files in it are open.
    package static func unmount(_ path: String) {
        #if os(Linux)
        umount2(path, Int32(MNT_DETACH))
        #endif
    }
}
