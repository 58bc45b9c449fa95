// SPDX-License-Identifier: Apache-2.0
/// The version of Martlet, as in `martlet --version` and the User-Agent field.
package enum MartletVersion {
    /// The version, according to semver.org.
    package static let text = "0.1.0"
}
