import ArgumentParser

/// Options for the address, TLS and the access log.
struct ServeAddressOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Where to listen; port 0 picks a free one and prints it.", valueName: "address:port")
    )
    var listen = "127.0.0.1:8080"

    @Option(help: ArgumentHelp("A certificate with its chain, PEM.", valueName: "file"), completion: .file())
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("The certificate's key, PEM.", valueName: "file"), completion: .file())
    var tlsKey: String?

    @Flag(help: "Encrypt with a self-signed certificate; its path and its pin are printed.")
    var tlsSelfSigned = false

    @Option(
        help: ArgumentHelp("Where requests are logged: a file, '-' for standard error, or 'none'.", valueName: "file"),
        completion: .file()
    )
    var accessLog = "-"
}

/// Options for the served content.
struct ServeContentOptions: ParsableArguments {
    @Flag(help: "Take no files.")
    var readOnly = false

    @Flag(help: "Let uploads replace files that exist.")
    var overwrite = false

    @Flag(help: "Serve names that begin with a dot, too.")
    var hidden = false

    @Option(
        help: ArgumentHelp(
            "Hand over one file by an unguessable link, which is printed; may be repeated.",
            valueName: "file"
        ),
        completion: .file()
    )
    var share: [String] = []

    @Option(
        help: ArgumentHelp("How long links are good. (default: as long as it runs)", valueName: "seconds"),
        transform: { try Seconds.parse($0) }
    )
    var shareExpires: Duration?

    @Option(
        help: ArgumentHelp(
            "Maximum downloads of each file by its link; an interrupted one can be continued and counts once.",
            valueName: "number"
        ),
        transform: { try WholeNumber.parse($0, in: 1...1_000_000_000) }
    )
    var shareCount: Int?

    @Flag(help: "Keep a record beside each file that is sent: sender, original name, type.")
    var records = false

    @Option(
        help: ArgumentHelp("A header field whose value goes into the record; may be repeated.", valueName: "name")
    )
    var recordHeader: [String] = []

    @Option(
        help: ArgumentHelp("A cookie whose value goes into the record; may be repeated.", valueName: "name")
    )
    var recordCookie: [String] = []
}

/// Options for access control.
struct ServeAccessOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file with a token that allows everything; it is made where it is missing.",
            valueName: "file"
        ),
        completion: .file()
    )
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with a credential on each line: rights (read, write, list or all, with commas), kind (token, basic "
                + "or session) and secret (NAME:PASSWORD for basic).",
            valueName: "file"
        ),
        completion: .file()
    )
    var credentials: String?

    @Option(help: ArgumentHelp("The name of the session cookie.", valueName: "name"))
    var sessionCookie = "martlet-session"

    @Option(
        help: ArgumentHelp(
            "A further host name that requests may name on loopback; may be repeated.",
            valueName: "name"
        )
    )
    var allowHost: [String] = []

    @Option(
        help: ArgumentHelp(
            "An origin whose web pages may read and write, as scheme://host:port; the port may be '*'; may be repeated.",
            valueName: "origin"
        )
    )
    var allowOrigin: [String] = []
}

/// Options for limits.
struct ServeLimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The most bytes of one upload.", valueName: "size"),
        transform: { try ByteSize.parse($0) }
    )
    var maxUpload: Int64?

    @Option(
        help: ArgumentHelp(
            "The most bytes of all uploads of this run; each file, record and directory counts at least 4K.",
            valueName: "size"
        ),
        transform: { try ByteSize.parse($0) }
    )
    var maxTotal: Int64?

    @Option(
        help: ArgumentHelp("The bytes to leave free on the filesystem. (default: 16M)", valueName: "size"),
        transform: { try ByteSize.parse($0) }
    )
    var keepFree: Int64?

    @Option(
        help: ArgumentHelp("How long unfinished uploads are kept; 0 for ever. (default: 86400)", valueName: "seconds"),
        transform: { try Seconds.parse($0) }
    )
    var expiry: Duration?

    @Option(
        help: ArgumentHelp(
            "How long nothing may come or go of a transfer; 0 for ever. (default: 60)",
            valueName: "seconds"
        ),
        transform: { try Seconds.parse($0) }
    )
    var idleTimeout: Duration?

    @Option(
        help: ArgumentHelp("The longest that one upload request may take. (default: no limit)", valueName: "seconds"),
        transform: { try Seconds.parse($0) }
    )
    var uploadTimeout: Duration?

    @Option(
        help: ArgumentHelp(
            "The bytes a second that an upload must come with on the average; 0 for any. (default: 100)",
            valueName: "size"
        ),
        transform: { try ByteSize.parse($0) }
    )
    var minRate: Int64?

    @Option(
        help: ArgumentHelp(
            "The most connections at once, as far as there are descriptors for. (default: 4096)",
            valueName: "number"
        ),
        transform: { try WholeNumber.parse($0, in: 1...1_000_000) }
    )
    var maxConnections: Int?

    @Option(
        help: ArgumentHelp("How long running requests may go on after a stop. (default: 30)", valueName: "seconds"),
        transform: { try Seconds.parse($0) }
    )
    var grace: Duration?
}
