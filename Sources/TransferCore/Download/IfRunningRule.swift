// SPDX-License-Identifier: Apache-2.0
/// The rule for a file that another process is downloading.
package enum IfRunningRule: String, Sendable, CaseIterable {
    /// Wait until it has ended, then decide about the file as about any existing one.
    case wait
    case fail
    /// Download the file under another name.
    case rename

    /// The rule that follows from that for existing files, if none is given.
    package init(following rule: IfExistsRule) {
        switch rule {
        case .rename: self = .rename
        case .fail: self = .fail
        case .auto, .update, .skip, .resume, .overwrite: self = .wait
        }
    }
}
