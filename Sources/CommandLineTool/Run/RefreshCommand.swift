// SPDX-License-Identifier: Apache-2.0
import Platform
import Control
import Synchronization
import TransferCore
import TransferEngine

/// Obtains fresh URLs from the user's command: `--refresh-command`.
///
/// The command is run by `/bin/sh -c`, with the refused URL in `MARTLET_URL` and the status in `MARTLET_STATUS`, an
/// empty standard input, and the standard error of this process. The first line of its output is the fresh URL.
final class RefreshCommand: LinkRefresher {
    /// The maximum size of the command's output, in bytes.
    static let longestOutput = 64 << 10

    private let command: String
    private let timeout: Duration
    private let isStopped = Atomic(false)

    /// Creates a refresher.
    ///
    /// - Parameters:
    ///   - command: The shell command.
    ///   - timeout: The maximum run time; after it, the command's process group is killed.
    init(_ command: String, timeout: Duration = .seconds(60)) {
        self.command = command
        self.timeout = timeout
    }

    /// Kills the running commands and starts no more.
    ///
    /// They run in separate process groups, so the terminal's Ctrl-C does not reach them.
    func stop() { self.isStopped.store(true, ordering: .relaxed) }

    func freshURL(for url: HTTPURL, status: Int) throws(TransferFailure) -> HTTPURL? {
        try self.checkStopped(status)
        let child: ChildProcess
        do throws(ControlError) {
            child = try ChildProcess.start(
                ["/bin/sh", "-c", self.command],
                environment: ["MARTLET_URL": url.text, "MARTLET_STATUS": "\(status)"],
                capturesOutput: true
            )
        } catch {
            throw self.failure(status, "could not be run: \(error)", remedy: "free memory and processes")
        }
        child.write([])
        let result = child.collect(atMost: Self.longestOutput, within: self.timeout) {
            self.isStopped.load(ordering: .relaxed)
        }
        switch result {
        case .ended(.exited(0), let output): return try self.url(in: output, status)
        case .ended(.exited(let code), _):
            throw self.failure(status, "exited with status \(code)", remedy: Self.trial)
        case .ended(.signalled(let number), _):
            throw self.failure(status, "was ended by signal \(number)", remedy: Self.trial)
        case .timedOut:
            let time = DurationFormat.compact(self.timeout)
            throw self.failure(status, "did not exit within \(time) and was killed", remedy: Self.trial)
        case .tooMuchOutput:
            throw self.failure(
                status,
                "printed more than \(Self.longestOutput) bytes and was killed",
                remedy: "let it print only the URL"
            )
        case .cancelled: try self.checkStopped(status)
        }
        return nil
    }

    private static let trial = "run it by hand, with MARTLET_URL and MARTLET_STATUS set"

    /// Parses the URL on the first line; errors do not quote the line, because it may contain secrets.
    private func url(in output: [UInt8], _ status: Int) throws(TransferFailure) -> HTTPURL {
        let line = output.prefix { $0 != 0x0A }
        guard let text = String(validating: line, as: UTF8.self),
            text.contains(where: { !$0.isWhitespace })
        else {
            let what = line.contains { $0 > 0x20 } ? "text that is not UTF-8" : "no URL"
            throw self.failure(
                status,
                "printed \(what) on its first line",
                remedy: "let it print the fresh URL on standard output, or exit with a status other than 0"
            )
        }
        guard let url = try? HTTPURL(text) else {
            throw self.failure(
                status,
                "printed something other than an http or https URL on its first line",
                remedy: "let it print only the complete URL"
            )
        }
        return url
    }

    private func checkStopped(_ status: Int) throws(TransferFailure) {
        guard self.isStopped.load(ordering: .relaxed) else { return }
        throw self.failure(status, "was stopped", remedy: "")
    }

    private func failure(_ status: Int, _ what: String, remedy: String) -> TransferFailure {
        let code: TransferFailure.Code =
            switch status {
            case 401: .authentication
            case 410: .notFound
            default: .badResponse
            }
        return TransferFailure(
            code,
            "the server responded with \(status), and the refresh command \(what)",
            remedy: remedy,
            status: status
        )
    }
}
