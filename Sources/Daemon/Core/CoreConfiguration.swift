package import Control
package import Logging
package import Martlet

/// What the daemon's core is made with.
package struct CoreConfiguration: Sendable {
    /// The state directory; absolute.
    package var stateDirectory: String
    /// Where files go whose transfer names no directory; absolute.
    package var directory: String
    /// Global options that hold where none were stored.
    package var options = TransferOptions()
    /// How the shared queue's transfers are made where their options say nothing.
    package var shared = SessionConfiguration.ephemeral
    /// Seconds after which ended transfers of the shared queue leave the history.
    package var historyAge: Double = 30 * 86_400
    /// Hears of everything that happens to transfers; must return at once.
    package var onEvent: (@Sendable (ServiceEvent) -> Void)?
    /// Takes messages; never a URL's query, user information, or a header field.
    package var logger = Logger(label: "martletd")
    /// Power and network, as the machine has them.
    package var conditions: any SystemConditions = LocalConditions()
    /// The present; a port for tests.
    package var clock = CoreClock()
    /// The maximum number of running transfers over all queues, for which there are file descriptors.
    package var mostAtOnce = Int.max
    /// Seconds between two attempts to write to a full disk.
    package var fullRetry: Double = 3
    /// Seconds for which a program may take to begin reading after it opened its session.
    package var sessionLease: Double = 10

    /// Creates the configuration of a state directory.
    package init(stateDirectory: String, directory: String) {
        self.stateDirectory = stateDirectory
        self.directory = directory
    }
}
