// SPDX-License-Identifier: Apache-2.0
internal import Logging
internal import ServiceLifecycle

/// Stops the queue when the service group shuts down, and ends the group when the queue has stopped.
struct QueueService: Service {
    let core: DaemonCore
    let notifier: ServiceNotifier

    func run() async throws {
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await self.core.waitUntilStopped()
            } onGracefulShutdown: {
                self.notifier.stopping()
                self.core.stop(isForced: false)
            }
        } onCancel: {
            // Another service has failed, such as the server on an address in use: the group waits for this one.
            self.core.stop(isForced: false)
        }
    }
}

/// Notifies systemd's watchdog periodically that the daemon's tasks are scheduled.
struct WatchdogService: Service {
    let notifier: ServiceNotifier

    func run() async throws {
        guard let interval = self.notifier.watchdogInterval else { return }
        try? await cancelWhenGracefulShutdown {
            while true {
                self.notifier.watchdog()
                try await Task.sleep(for: interval)
            }
        }
    }
}

/// Runs the server; without TCP if the address is in use and that is allowed.
struct ServerService: Service {
    let core: DaemonCore
    let configuration: ServerConfiguration
    let mayDoWithoutTCP: Bool
    let notifier: ServiceNotifier
    let logger: Logger
    /// Called when all addresses are bound, before clients can find the daemon.
    let onBound: @Sendable () -> Void

    func run() async throws {
        do {
            try await self.serve(self.configuration)
        } catch let error as ServerError where error.code == .addressInUse && self.mayDoWithoutTCP {
            self.logger.warning(
                "the RPC is not available over TCP: \(error.message)",
                metadata: ["remedy": "set another address with --listen, or none"]
            )
            var configuration = self.configuration
            configuration.listen = nil
            try await self.serve(configuration)
        }
    }

    private func serve(_ configuration: ServerConfiguration) async throws {
        let server = DaemonServer(
            configuration: configuration,
            service: self.core,
            logger: self.logger,
            health: { self.core.health },
            onBound: self.onBound,
            onReady: { bound in
                let places = [bound.socketPath, bound.listen?.description].compactMap(\.self).joined(separator: ", ")
                self.logger.notice("listening", metadata: ["on": "\(places)"])
                self.notifier.ready("Listening on \(places)")
            }
        )
        try await server.run()
    }
}
