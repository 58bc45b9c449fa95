// SPDX-License-Identifier: Apache-2.0

/// The parts of the manual page that the definitions of the commands do not contain.
enum ManualTables {
    /// A term and its explanation.
    struct Entry: Sendable {
        /// The names of a term, such as two spellings of a variable.
        var names: [String]
        var text: String

        init(_ names: String..., text: String) {
            self.names = names
            self.text = text
        }
    }

    /// Every exit status with its meaning, in ascending order.
    static let statuses: [(status: Int32, meaning: String)] = [
        (0, "Every file is complete, and the output was written."),
        (1, "An unknown error; for martlet demo: a step did not hold."),
        (2, "A timeout."),
        (3, "The file does not exist on the server."),
        (5, "The server is slower than --min-rate."),
        (6, "A network or TLS failure; for martlet serve: the address cannot be used."),
        (7, "Transfers are unfinished; for martlet wait: a transfer was removed, or is paused."),
        (8, "The server does not support resuming, which was required."),
        (9, "No space on the device."),
        (11, "Another process is downloading the file."),
        (13, "The file exists."),
        (15, "A file could not be opened; for martlet serve: the directory."),
        (16, "A file could not be created."),
        (17, "A file could not be read or written, or standard output not written."),
        (18, "A directory could not be created."),
        (19, "The name of a host could not be resolved."),
        (22, "A bad or unexpected response."),
        (23, "Too many redirects, or a refused one."),
        (24, "Authentication failed."),
        (28, "A bad option or argument."),
        (29, "The server is overloaded or in maintenance."),
        (32, "A checksum does not match."),
        (33, "The content is larger than accepted."),
        (34, "robots.txt denies the file."),
        (35, "The address of the host is denied."),
        (65, "Rows of a table failed; the report has them."),
        (69, "No daemon is running or can be reached."),
        (73, "Another run writes the report."),
        (130, "Ended by SIGINT, SIGTERM or SIGHUP. A daemon or server that these signals stop exits with 0."),
    ]

    /// The environment variables that the program reads.
    static let variables: [Entry] = [
        Entry(
            "http_proxy",
            "https_proxy",
            "all_proxy",
            "no_proxy",
            text: """
                Proxies for http and https URLs, and for both, as http://user:password@host:port; and the hosts to \
                contact directly, separated by commas. The last three can also be in upper case; lower case takes \
                precedence. --proxy and --no-proxy override them.
                """
        ),
        Entry("HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", text: "As https_proxy, all_proxy and no_proxy."),
        Entry(
            "MARTLET_STATE_DIR",
            text: "The state directory, unless --state-dir names another."
        ),
        Entry(
            "XDG_STATE_HOME",
            text: """
                Without MARTLET_STATE_DIR, the state directory is martlet in this directory. (default: ~/.local/state)
                """
        ),
        Entry(
            "MARTLET_DAEMON",
            text: """
                The executable that runs as the daemon. (default: martlet or martletd next to the program, otherwise in \
                PATH)
                """
        ),
        Entry("PATH", text: "Directories in which the daemon's executable and commands are found."),
        Entry(
            "XDG_RUNTIME_DIR",
            text: """
                Directory for the daemon's socket if its path in the state directory is too long (otherwise /tmp), and of \
                the session bus.
                """
        ),
        Entry(
            "XDG_DOWNLOAD_DIR",
            text: """
                The daemon's default directory for downloads. (default: the value in user-dirs.dirs, otherwise \
                ~/Downloads)
                """
        ),
        Entry("XDG_CONFIG_HOME", text: "Directory of user-dirs.dirs. (default: ~/.config)"),
        Entry("HOME", text: "The home directory."),
        Entry("NETRC", text: "The file of --netrc. (default: ~/.netrc)"),
        Entry(
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            text: """
                A file of trusted certificates in PEM, and directories of them, separated by colons, whose files are named \
                as by openssl-rehash(1). Each replaces that of the system. (default: those of ca-certificates)
                """
        ),
        Entry("TMPDIR", text: "Directory for temporary files of martlet demo and martlet serve. (default: /tmp)"),
        Entry("NO_COLOR", text: "If set and not empty, disables colours."),
        Entry("TERM", text: "If unset or dumb, progress is not drawn."),
        Entry(
            "LC_ALL",
            "LC_CTYPE",
            "LANG",
            text: "The first that is set and not empty selects the characters of progress: UTF-8 or ASCII."
        ),
        Entry("TZ", text: "Time zone of --schedule and of displayed times."),
        Entry("DISPLAY", "WAYLAND_DISPLAY", text: "If one is set, martlet web opens the page with xdg-open."),
        Entry("DBUS_SESSION_BUS_ADDRESS", text: "The session bus for the daemon's desktop notifications."),
        Entry(
            "NOTIFY_SOCKET",
            "WATCHDOG_USEC",
            "WATCHDOG_PID",
            text: "Set by systemd: the daemon reports to it that it is ready, and that it is alive."
        ),
    ]

    /// The environment variables of the commands that the program runs.
    static let commandVariables: [Entry] = [
        Entry(
            "MARTLET_URL",
            text: """
                The first URL of the transfer; for --refresh-command the URL that was refused, with its user information \
                and query.
                """
        ),
        Entry("MARTLET_STATUS", text: "For --refresh-command: the status of the refusal, 401, 403 or 410."),
        Entry("MARTLET_EVENT", text: "For the daemon's commands: the event."),
        Entry("MARTLET_ID", text: "The transfer's id."),
        Entry("MARTLET_STATE", text: "The transfer's state."),
        Entry("MARTLET_KIND", text: "download or upload."),
        Entry("MARTLET_PATH", text: "The path of the downloaded file."),
        Entry("MARTLET_SOURCE", text: "The path of the uploaded file."),
        Entry("MARTLET_DIR", text: "The transfer's directory."),
        Entry("MARTLET_BYTES", text: "The number of bytes transferred."),
        Entry("MARTLET_TOTAL", text: "The size, if it is known."),
        Entry("MARTLET_ERROR_CODE", text: "The exit status that stands for the failure, if the transfer failed."),
        Entry("MARTLET_ERROR", text: "The message of the failure."),
        Entry("MARTLET_SESSION", text: "The background session of the transfer, if any; also for its wake command."),
        Entry("MARTLET_STATE_DIR", text: "For wake commands: the state directory."),
    ]

    /// The files that the program makes.
    static let files: [Entry] = [
        Entry("NAME.part", text: "The data of NAME received so far."),
        Entry(
            "NAME.part.journal",
            text: "The source and the progress of NAME.part. Keep both files to resume later."
        ),
        Entry("NAME.martlet-bad", text: "A file that failed its checksum; a further one is NAME.martlet-bad.1."),
        Entry(
            "NAME.martlet-new.part",
            text: "A second partial file of NAME, while the older one may still be needed."
        ),
        Entry(".martlet-XXXXXXXX", text: "A temporary file, which only a crash leaves."),
        Entry("REPORT.origin", text: "The path and the digest of the report's table. Keep it with the report."),
        Entry(
            "DIR/.martlet-reports",
            text: """
                The reports whose shards the directory contains. Shards are named 00000.tar and so on, unfinished ones \
                .00000.tar.part.
                """
        ),
        Entry("~/.netrc", text: "User names and passwords of hosts, for --netrc."),
        Entry("DIR/.martlet-shards", text: "Lock of a run that writes shards into the directory."),
        Entry(
            "~/.local/state/martlet/",
            text: "The state directory. MARTLET_STATE_DIR, XDG_STATE_HOME and --state-dir select another one."
        ),
        Entry("DIR/.martlet-uploads/", text: "Unfinished uploads to martlet serve, in the served directory."),
        Entry(".NAME.martlet.json", text: "The record of an uploaded file (martlet serve --records)."),
        Entry("/tmp/martlet-demo-XXXXXX/", text: "The directory of martlet demo, removed at its end."),
    ]

    /// The files in the state directory.
    static let stateFiles: [Entry] = [
        Entry("queue.sqlite", text: "The daemon's queue and history, with queue.sqlite-wal."),
        Entry("daemon-options.json", text: "The options with which the daemon starts again; never a token."),
        Entry("rpc-secret", text: "The token for RPC over TCP."),
        Entry("martletd.log", text: "The log of a daemon in the background."),
        Entry("martletd.sock", text: "The daemon's socket, or a link to it."),
        Entry("martletd.lock", text: "Lock of the daemon that runs."),
        Entry("uploads/", text: "The state of interrupted uploads of martlet put and of the daemon."),
        Entry("sessions/", "spools/", text: "Files of background sessions."),
        Entry("links/", text: "The share links of martlet serve."),
        Entry("serve.sign-outs", text: "The sessions that signed out of martlet serve."),
        Entry("serve-certificate.pem", "serve-key", text: "The certificate and key of --tls-self-signed."),
    ]

    /// Commands with what they do.
    static let examples: [Entry] = [
        Entry("martlet demo", text: "Show in 20 seconds how transfers survive kill -9."),
        Entry("martlet get https://example.org/a.iso", text: "Download a file; run it again to resume."),
        Entry("martlet get -i list.txt -d downloads -j 16", text: "Download the URLs of a list, 16 files at once."),
        Entry("martlet get --checksum sha256:HEX https://example.org/a.iso", text: "Download and verify."),
        Entry("martlet get -q -o - https://example.org/a.tar.gz | tar xz", text: "Download into a pipe."),
        Entry(
            "martlet get --manifest images.csv --report report.jsonl --shards shards",
            text: "Fetch the images of a table into tar files, with a report of every row."
        ),
        Entry("martlet put a.iso b.iso https://example.org/in/", text: "Upload two files."),
        Entry("tar cz photos | martlet put - https://example.org/in/photos.tgz", text: "Upload from a pipe."),
        Entry("martlet add https://example.org/a.iso", text: "Let the daemon download it."),
        Entry("martlet wait --all", text: "Wait until the daemon's queue is done."),
        Entry("martlet limit --rate 2M --schedule 22:00-06:00", text: "Limit the queue's rate and hours."),
        Entry("martlet top", text: "Watch and control the daemon's transfers."),
        Entry("martlet serve --share a.iso --share-count 1", text: "Print a link for one download."),
        Entry(
            "martlet serve in --listen 0.0.0.0:8443 --tls-self-signed --token-file t",
            text: "Receive files from other machines, encrypted."
        ),
        Entry(
            "martlet daemon --dir /srv/files --on-finish ./done",
            text: "Run the daemon with options; it remembers them."
        ),
        Entry("martlet generate-manual get | man -l -", text: "Show the page of a command."),
        Entry("martlet generate-manual --directory man1", text: "Store all pages, for a package."),
    ]

    /// The pages of the section SEE ALSO, without martlet's own.
    static let related = ["aria2c(1)", "curl(1)", "sha256sum(1)", "systemctl(1)", "tar(1)", "wget(1)", "wget2(1)"]
}
