// SPDX-License-Identifier: Apache-2.0
/// The health of a daemon, as `/health` reports it to everybody who can connect: without paths.
package enum DaemonHealth: Sendable, Hashable {
    case ok
    /// It works, but transfers wait for something that a person must do.
    case degraded(String)
    /// The queue cannot continue.
    case failing(String)
}
