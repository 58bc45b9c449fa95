/// When the events of a background session count as handled, so that the daemon may forget them.
public enum AcknowledgementMode: Sendable, Hashable {
    /// Once the delegates' methods and the completion handlers that were told of them have returned.
    case automatically
    /// When the program calls ``TransferSession/acknowledge(upTo:)``.
    case manually
}

/// Where a background session lives.
struct BackgroundPlace: Sendable, Hashable {
    var identifier: String
    /// `nil` for the default one.
    var stateDirectory: String?
    /// How long another program that has the session is waited for.
    var patience = Duration.zero
}
