// SPDX-License-Identifier: Apache-2.0
/// The number of connections for one file.
package enum ConnectionPolicy: Sendable, Hashable {
    /// This many, as soon as the server has shown that it supports ranges.
    case fixed(Int)
    /// One, and more up to this number as long as each one increases the rate.
    case adaptive(most: Int)
}
