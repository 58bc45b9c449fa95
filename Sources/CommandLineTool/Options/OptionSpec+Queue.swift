// SPDX-License-Identifier: Apache-2.0
import Control
import TransferCore
import TransferEngine

// Options of the commands that show and change the queue.

extension OptionSpec<Int64> {
    static var queueRate: Self {
        Self("rate", .size, "Maximum bytes per second.", stored: "max-overall-download-limit")
    }
}

extension OptionSpec<Int> {
    static var downloads: Self {
        Self("downloads", .number(1...10000), "Maximum concurrent transfers.", stored: "max-concurrent-downloads")
    }

    static var listLimit: Self {
        Self("limit", .number(0...Int(Int32.max)), "Maximum number of transfers to list.", standard: "all")
    }
}

extension OptionSpec<String> {
    static var hostLimit: Self {
        Self("host", .text("limit"), "Maximum connections to a host, as HOST=NUMBER; may be repeated.")
    }

    static var schedule: Self {
        Self(
            "schedule",
            .text("hours"),
            "Hours when transfers run, as HH:MM-HH:MM in local time, or 'none' for always."
        )
    }

    static var days: Self {
        Self(
            "days",
            .text("days"),
            "With --schedule: days on which the hours start, such as mon-fri or sat,sun.",
            standard: "every day"
        )
    }

    static var removedLink: Self {
        Self("remove", .text("link"), "Link to remove: its URL, path or token; may be repeated.")
    }
}

extension OptionSpec<Bool> {
    static var force: Self { Self("force", .flag, "Wait at most 0.5 s for running transfers to stop, instead of 4 s.") }

    static var noOpen: Self { Self("no-open", .flag, "Only print the link.") }

    static var watch: Self { Self("watch", .flag, "Redraw the list continuously, until Ctrl-C.") }

    static var deletePartial: Self {
        Self("delete-partial", .flag, "Delete received data; for uploads, the data on the server.")
    }
}

extension OptionSpec<TransferRecord.State> {
    static var state: Self {
        Self(
            "state",
            .choice("state", TransferRecord.State.allCases),
            "Only transfers in this state: waiting, active, retrying, held, paused, finished, failed or "
                + "removed; may be repeated."
        )
    }
}

extension OptionSpec<Double> {
    static var interval: Self {
        Self("interval", .interval, "Seconds between two updates, from 0.2 to 3600.", standard: "1")
    }
}

extension OptionSyntax<Double> {
    /// Seconds between two updates of a screen.
    static var interval: Self {
        Self("seconds") { text throws(SyntaxError) in
            let seconds = Quantity.seconds(try OptionSyntax<Duration>.seconds.value(text))
            guard (0.2...3600).contains(seconds) else {
                throw SyntaxError.option("is not an interval", write: "seconds from 0.2 to 3600")
            }
            return seconds
        }
    }
}
