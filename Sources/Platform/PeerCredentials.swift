// SPDX-License-Identifier: Apache-2.0
/// The identity of the process at the other end of a Unix socket, as getsockopt(2) writes it.
///
/// - Source: unix(7), `SO_PEERCRED`; unix(4) of macOS, `LOCAL_PEERCRED`.
package struct PeerCredentials: Sendable {
    #if canImport(Darwin)
    /// The level of the option.
    package static let level: Int32 = 0
    /// `LOCAL_PEERCRED`.
    package static let option: Int32 = 1

    // `struct xucred`; its beginning, with the size of the whole structure.
    private var version: UInt32 = 0
    /// The effective user.
    package private(set) var user: UInt32 = 0
    private var groupCount: Int16 = 0
    private var groups: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    #else
    /// The level of the option.
    package static let level: Int32 = SOL_SOCKET
    package static let option: Int32 = SO_PEERCRED

    // `struct ucred`, which the C library declares only with `_GNU_SOURCE`.
    private var process: Int32 = 0
    /// The effective user.
    package private(set) var user: UInt32 = 0
    private var group: UInt32 = 0
    #endif
}
