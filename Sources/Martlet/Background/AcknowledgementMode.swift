// SPDX-License-Identifier: Apache-2.0
extension SessionConfiguration {
    /// When the events of a background session count as handled, so that the daemon may delete them.
    public enum AcknowledgementMode: Sendable, Hashable {
        /// When the delegate methods and completion handlers called for them have returned.
        case automatically
        /// When the program calls ``TransferSession/acknowledge(upTo:)``.
        case manually
    }
}

/// The identity and directory of a background session.
struct BackgroundPlace: Sendable, Hashable {
    var identifier: String
    /// `nil` for the default directory.
    var stateDirectory: String?
    /// How long to wait while another program has the session open.
    var patience = Duration.zero
}
