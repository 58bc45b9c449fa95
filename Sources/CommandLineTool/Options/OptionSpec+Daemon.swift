// SPDX-License-Identifier: Apache-2.0
import Control
import Logging
import TransferCore
import TransferEngine

// Options of the daemon, and of the commands that start it or connect to it.

extension OptionSpec<String> {
    static var daemonDirectory: Self {
        Self("dir", .directory, "Default directory for downloads.", standard: "$XDG_DOWNLOAD_DIR, else ~/Downloads")
    }

    static var allowDir: Self {
        Self(
            "allow-dir",
            .directory,
            "Additional directory in which TCP clients may store files; may be repeated.",
            details: """
                Otherwise their files must be inside --dir. Hidden files below these directories are refused, too. \
                Clients of the socket may use any directory.
                """
        )
    }

    static var saveSession: Self {
        Self(
            "save-session",
            .file(),
            "File to which unfinished downloads are saved when the daemon stops, as aria2 does.",
            details: "The queue itself is always stored. aria2c -i and martlet get -i can read the file.",
            stored: "save-session"
        )
    }

    static var rpcListen: Self {
        Self(
            "listen",
            .text("address:port"),
            "Address of the RPC server, a port on 127.0.0.1, or none.",
            standard: "127.0.0.1:6800",
            details: """
                If the default port is in use, the daemon logs a warning and runs without TCP. On non-loopback \
                addresses, anyone who can connect may try tokens, and tokens are sent unencrypted.
                """
        )
    }

    static var rpcSecretFile: Self {
        Self(
            "rpc-secret-file",
            .file(),
            "File with the token, mode 0600.",
            standard: "rpc-secret in the state directory"
        )
    }

    static var rpcSecret: Self {
        Self(
            "rpc-secret",
            .text("token"),
            "The token. Visible to other users in the process list until the daemon has started."
        )
    }

    static var rpcAllowOrigin: Self {
        Self(
            "rpc-allow-origin",
            .text("origin"),
            "Origin whose web pages may use the RPC, such as https://example.org, or '*' for all; may be repeated.",
            details: "The pages need the token, too."
        )
    }

    static var rpcAllowHost: Self {
        Self("rpc-allow-host", .text("name"), "Additional host name to accept in the Host field; may be repeated.")
    }

    static var notify: Self {
        Self(
            "notify",
            .notifications,
            "Desktop notifications: finished, failed and done, separated by commas.",
            standard: "none, or the last setting",
            details: """
                done is when no transfer waits or runs any more. The notifications are for transfers of the queue; \
                background sessions have their own setting. They are posted on the D-Bus session bus, if there is one.
                """,
            stored: "notify"
        )
    }

    static var onStart: Self {
        Self(
            "on-start",
            .text("command"),
            "Command to run when a transfer starts.",
            details: """
                Each of these four commands is run with /bin/sh -c, with the transfer in MARTLET_ID, _STATE, _URL, \
                _PATH, _DIR, _BYTES, _TOTAL, _ERROR_CODE, _ERROR and _SESSION, the event in MARTLET_EVENT, and all as \
                JSON on standard input. MARTLET_KIND is download or upload; the file of an upload is in \
                MARTLET_SOURCE. Transfers do not wait for commands; at most four commands run at once, each for at \
                most five minutes.
                """
        )
    }

    static var onFinish: Self {
        Self("on-finish", .text("command"), "Command to run when a download or upload has finished.")
    }

    static var onFailure: Self { Self("on-failure", .text("command"), "Command to run when a transfer has failed.") }

    static var onDrain: Self {
        Self("on-drain", .text("command"), "Command to run when no transfer is waiting or running any more.")
    }

    static var onDownloadStart: Self {
        Self(
            "on-download-start",
            .text("program"),
            "Program to run when a download starts, with aria2's arguments: id, number of files, path."
        )
    }

    static var onDownloadPause: Self {
        Self("on-download-pause", .text("program"), "Program to run when a download is paused.")
    }

    static var onDownloadStop: Self {
        Self(
            "on-download-stop",
            .text("program"),
            "Program to run when a download has ended, unless one of the next two options applies."
        )
    }

    static var onDownloadComplete: Self {
        Self("on-download-complete", .text("program"), "Program to run when a download has finished.")
    }

    static var onDownloadError: Self {
        Self("on-download-error", .text("program"), "Program to run when a download has failed.")
    }

    static var stateDir: Self {
        Self(
            "state-dir",
            .directory,
            "State directory of the daemon.",
            standard: "$MARTLET_STATE_DIR, or martlet in the user's state directory"
        )
    }

    static var session: Self {
        Self("session", .text("name"), "With --all: only the transfers of this background session.")
    }
}

extension OptionSpec<Int> {
    static var saveSessionInterval: Self {
        Self(
            "save-session-interval",
            .number(0...1_000_000_000).named("seconds"),
            "Also save the --save-session file at this interval.",
            stored: "save-session-interval"
        )
    }

    static var rpcSecretFd: Self {
        Self("rpc-secret-fd", .number(0...65535), "File descriptor from which to read the token.")
    }

    static var maxConcurrentDownloads: Self {
        Self(
            "max-concurrent-downloads",
            letters: "j",
            .number(1...10000),
            "Maximum concurrent transfers.",
            standard: "5, or the last setting",
            stored: "max-concurrent-downloads"
        )
    }

    static var maxDownloadResult: Self {
        Self(
            "max-download-result",
            .number(0...10_000_000),
            "Maximum ended transfers in the history.",
            standard: "1000, or the last setting",
            stored: "max-download-result"
        )
    }
}

extension OptionSpec<Bool> {
    static var insecureNotifications: Self {
        Self(
            "insecure-notifications",
            .flag,
            "Send aria2's notifications to WebSockets on loopback without a token, as aria2 does."
        )
    }

    static var detach: Self { Self("detach", .flag, "Run in the background; return when the daemon responds.") }

    static var showOptions: Self {
        Self("show-options", .flag, "Print the options with which a start without options starts the daemon, and end.")
    }

    static var forgetOptions: Self { Self("forget-options", .flag, "Forget these options, and end.") }

    static var all: Self { Self("all", .flag, "Select all transfers to which the command applies.") }
}

extension OptionSpec<Logger.Level> {
    static var logLevel: Self {
        Self(
            "log-level",
            .choice("level", Logger.Level.allCases),
            "Minimum level of logged messages: trace, debug, info, notice, warning, error or critical.",
            standard: "info"
        )
    }
}

extension OptionSyntax<String> {
    /// Names of notifications, separated by commas, or `none`; the value has them in a fixed order.
    static var notifications: Self {
        Self("events", completion: .words(TransferNotification.allCases.map(\.word))) { text throws(SyntaxError) in
            guard let events = Set<TransferNotification>(words: text) else {
                throw SyntaxError.option("is not a list of events", write: "some of finished,failed,done, or none")
            }
            return events.words
        }
    }
}
