// SPDX-License-Identifier: Apache-2.0
/// The rule for a name that is taken.
package enum IfExistsRule: String, Sendable, CaseIterable {
    /// Skip a file that agrees with the server's, resume a partial file of Martlet, number any other; a name that must be
    /// exact gets no number.
    case auto
    /// Replace the file if the server has another version, which a conditional request finds out.
    case update
    /// Skip any existing file.
    case skip
    /// Continue from the existing file's end after comparing the overlap.
    case resume
    /// Always use a number.
    case rename
    /// Replace the file once the new one is complete.
    case overwrite
    case fail
}
