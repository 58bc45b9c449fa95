// SPDX-License-Identifier: Apache-2.0
/// The steps of the demo and its texts: lines of at most 79 columns of ASCII.
enum DemoScript {
    /// One step.
    enum Step: CaseIterable {
        /// A killed download is run again.
        case resumption
        /// A file is replaced on the server between two runs.
        case replacement
        /// A daemon with a list is killed.
        case list

        var heading: String {
            switch self {
            case .resumption: "1. A download is killed, and the same command is run again."
            case .replacement: "2. The file is replaced on the server after a part of it was downloaded."
            case .list: "3. A daemon downloads a list of five files, and is killed."
            }
        }
    }

    /// The steps in their order.
    static let steps = Step.allCases

    /// The first line.
    static let title = "martlet demo: everything runs on this machine, without a network, in about 20 s"

    /// The line after the last step.
    static func success(after duration: Duration) -> String {
        "All three held, in \(Quantity.elapsed(duration)). The temporary directory is removed."
    }

    /// The line after a step that did not hold.
    static let failure = "A step did not hold. The temporary directory is removed."

    /// The last lines: where to continue.
    static let more = """
        Next, in a checkout: five programs that use the library, ./martlet example NAME
          image-queue       many images at once, with a limit that changes
          file-sender       uploads that survive kill -9
          background-image  a download that the daemon finishes for a program
          blocking          one call that waits, on any thread
          offline-list      a list that survives kill -9
        martlet web opens the daemon's page in a browser; martlet top is for terminals.
        martlet help lists the commands; README.md and Docs describe them.
        """

    /// The URL in the first lines of `martlet serve`, with a slash at its end; `nil` before it is complete.
    static func address(in text: String) -> String? {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            guard line.hasPrefix("serving "), let start = line.firstRange(of: " at http://") else { continue }
            return String(line[line.index(start.lowerBound, offsetBy: 4)...])
        }
        return nil
    }
}
