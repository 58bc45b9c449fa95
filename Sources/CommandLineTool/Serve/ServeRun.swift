// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Platform
import Receiver

/// One run of `martlet serve`.
enum ServeRun {
    /// Serves until a signal arrives.
    ///
    /// - Returns: The exit status: 0 after a graceful stop.
    static func execute(_ plan: ServePlan) -> Int32 {
        let errors = OutputStream(STDERR_FILENO)
        do {
            let signals = SignalWatcher()
            DescriptorLimits.raise()
            let stopped = try WakeUp()
            let stream = try ServeLog.open(plan.log)
            // A log without an active reader delays the stop by two seconds at most.
            try signals.start(
                stop: {
                    stream?.hurry()
                    stopped.wake()
                },
                resized: {}
            )
            let log = stream.map { stream in AccessLog { stream.write(String(decoding: $0, as: UTF8.self)) } }
            return QueueRun.wait { await self.serve(plan, log, stopped, errors) }
        } catch {
            errors.write("martlet: \(error.description)\n")
            return ExitStatus.usage
        }
    }

    private static func serve(_ plan: ServePlan, _ log: AccessLog?, _ stopped: WakeUp, _ errors: OutputStream) async
        -> Int32
    {
        do {
            var configuration = plan.configuration
            configuration.credentials = try ServeCredentials.load(plan)
            if let password = try ServeCredentials.sharePassword(plan) {
                for index in configuration.shares.indices { configuration.shares[index].password = password }
            }
            let certificate = try ServeCertificate.load(plan)
            configuration.certificate = certificate?.certificate
            let links = ServeLinks.place(configuration)
            configuration.linkStore = links.path
            let signOuts = ServeSignOuts.place(configuration)
            configuration.signOutStore = signOuts.path
            let receiver = try await Receiver.start(configuration, log: log)
            let output = OutputStream(STDOUT_FILENO)
            output.write(
                ServeText.greeting(
                    receiver,
                    configuration,
                    certificate: certificate,
                    printsQR: plan.printsQR ?? (isatty(STDOUT_FILENO) == 1)
                )
            )
            for warning in ServeText.warnings(configuration) + links.warnings + signOuts.warnings {
                errors.write("martlet: \(warning)\n")
            }
            await self.wait(for: stopped)
            await receiver.stop()
            return ExitStatus.success
        } catch let error as ReceiverError {
            errors.write("martlet: \(DisplayText.clean(error.message))\n")
            return ExitStatus.of(error)
        } catch let error as ControlError {
            errors.write("martlet: \(DisplayText.clean(error.description))\n")
            return ExitStatus.usage
        } catch {
            errors.write("martlet: \(DisplayText.clean("\(error)"))\n")
            return ExitStatus.usage
        }
    }

    /// Waits on a separate thread, which may block.
    private static func wait(for stopped: WakeUp) async {
        await withCheckedContinuation { continuation in
            do {
                try SystemThread.run {
                    while !stopped.wait(milliseconds: -1) {}
                    continuation.resume()
                }
            } catch {
                continuation.resume()
            }
        }
    }
}

extension ExitStatus {
    /// The exit status for an error of the receiver, one of aria2's codes.
    static func of(_ error: ReceiverError) -> Int32 {
        switch error.code {
        case .address: 6
        case .directory: 15
        case .credentials, .certificate: Self.usage
        default: 1
        }
    }
}

/// Opens the access log.
enum ServeLog {
    /// Opens the log.
    ///
    /// - Throws: ``SyntaxError`` if the file cannot be opened.
    static func open(_ place: ServePlan.Log) throws(SyntaxError) -> OutputStream? {
        switch place {
        case .none: return nil
        case .standardError: return OutputStream(STDERR_FILENO)
        case .file(let path):
            let descriptor = systemOpenLog(path)
            guard descriptor >= 0 else {
                throw SyntaxError(
                    "the log \(DisplayText.clean(path)) cannot be opened: \(String(cString: strerror(errno)))"
                )
            }
            return OutputStream(descriptor)
        }
    }

    private static func systemOpenLog(_ path: String) -> Int32 {
        Platform.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o640)
    }
}
