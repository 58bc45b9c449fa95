// SPDX-License-Identifier: Apache-2.0
package import Control
package import Logging
package import Martlet
package import TransferCore

/// The configuration of the daemon's core.
package struct CoreConfiguration: Sendable {
    /// The state directory; absolute.
    package var stateDirectory: String
    /// The directory of files whose transfer does not name one; absolute.
    package var directory: String
    /// The global options unless stored ones replace them.
    package var options = TransferOptions()
    /// The settings of the shared queue's transfers that their options do not set.
    package var shared = SessionConfiguration.ephemeral
    /// The addresses that transfers may use although they are denied.
    package var allowedAddresses = ProxyExceptions()
    /// Seconds after which ended transfers of the shared queue leave the history.
    package var historyAge: Double = 30 * 86_400
    /// Observes all events of transfers; must return immediately.
    package var onEvent: (@Sendable (ServiceEvent) -> Void)?
    /// Posts desktop notifications; `nil` for none.
    package var notifier: DesktopNotifier?
    /// The logger; messages never contain a URL's query, user information or a header field.
    package var logger = Logger(label: "martletd")
    /// The power and network conditions of the machine.
    package var conditions: any SystemConditions = LocalConditions()
    /// The clocks; tests and simulations can replace them.
    package var clock = CoreClock()
    /// The resources of the engines; `nil` for real connections, files and threads.
    package var resources: EngineResources?
    /// The maximum number of running transfers over all queues, limited by file descriptors.
    package var mostAtOnce = Int.max
    /// The interval between two attempts to write to a full disk, in seconds.
    package var fullRetry: Double = 3
    /// The time within which a program must start to read after it opened its session, in seconds.
    package var sessionLease: Double = 10
    /// The limits of wake commands.
    package var wake = WakeMachine.Limits()

    package init(stateDirectory: String, directory: String) {
        self.stateDirectory = stateDirectory
        self.directory = directory
    }
}
