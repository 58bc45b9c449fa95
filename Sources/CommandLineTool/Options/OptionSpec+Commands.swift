// SPDX-License-Identifier: Apache-2.0
import Control
import TransferCore
import TransferEngine

// Options of the commands that are not options of transfers: output, and the place in the queue.

extension OptionSpec<Bool> {
    static var quiet: Self { Self("quiet", letters: "q", .flag, "Print failures only.") }

    static var verbose: Self { Self("verbose", .flag, "Also print responses, retries and decisions.") }

    static var json: Self {
        Self("json", .flag, "Write one JSON object per event to standard output (to standard error with -o -).")
    }

    static var noProgress: Self { Self("no-progress", .flag, "Do not show progress, on a terminal or as lines.") }

    static var paused: Self { Self("paused", .flag, "Add the transfers paused.") }

    static var wait: Self {
        Self("wait", .flag, "Wait until all added transfers have ended; the exit status is that of martlet wait.")
    }

    static var upload: Self { Self("upload", .flag, "Upload files: the arguments are files followed by the URL.") }

    static var printsSpellings: Self {
        Self("spellings", .flag, "Print the table of the options of curl, wget and aria2 instead, as Markdown.")
    }

    static var printsOptions: Self {
        Self("options", .flag, "Print the tables of the options of transfers and of the queue instead, as Markdown.")
    }

    static var noStart: Self { Self("no-start", .flag, "Do not start a daemon if none is running.") }
}

extension OptionSpec<String> {
    static var manualDirectory: Self {
        Self("directory", .directory, "Write all pages into this directory; it is created if it is missing.")
    }
}

extension OptionSpec<Int> {
    static var queuePriority: Self {
        Self(
            "priority",
            .number(-1_000_000...1_000_000),
            "Priority; higher values start first.",
            standard: "0",
            stored: "priority"
        )
    }

    static var position: Self {
        Self(
            "position",
            .number(0...Int(Int32.max)),
            "Queue position of the first transfer, from 0.",
            standard: "the end"
        )
    }
}

extension OptionSpec<GID> {
    static var id: Self {
        Self("id", .id, "Id of the transfer, for one file only: 16 hexadecimal digits.")
    }
}

extension OptionSyntax<GID> {
    static var id: Self {
        Self("id") { text throws(SyntaxError) in
            guard let id = GID(text) else {
                throw SyntaxError.option("is not an id", write: "16 hexadecimal digits, not all 0")
            }
            return id
        }
    }
}
