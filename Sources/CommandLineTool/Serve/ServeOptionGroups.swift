// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser

/// Options for the address, TLS and the access log.
struct ServeAddressOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Address to listen on; port 0 picks a free port and prints it.", valueName: "address:port")
    )
    var listen = "127.0.0.1:8080"

    @Option(
        help: ArgumentHelp("Path below which a proxy serves the directory, such as /files.", valueName: "path")
    )
    var basePath = ""

    @Option(
        help: ArgumentHelp(
            "Address or network (10.0.0.0/8) of a proxy whose Forwarded or X-Forwarded-For, -Proto and -Host fields "
                + "name the client; may be repeated.",
            valueName: "address"
        )
    )
    var trustedProxy: [String] = []

    @Option(help: ArgumentHelp("Certificate with its chain, PEM.", valueName: "file"), completion: .file())
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("Private key of the certificate, PEM.", valueName: "file"), completion: .file())
    var tlsKey: String?

    @Flag(help: "Encrypt with a self-signed certificate; its path and its pin are printed.")
    var tlsSelfSigned = false

    @Option(
        help: ArgumentHelp("Access log: a file, '-' for standard error, or 'none'.", valueName: "file"),
        completion: .file()
    )
    var accessLog = "-"
}

/// Options for the served content.
struct ServeContentOptions: ParsableArguments {
    @Flag(help: "Refuse uploads.")
    var readOnly = false

    @Flag(help: "Let uploads replace existing files.")
    var overwrite = false

    @Flag(help: "Also serve names that start with a dot.")
    var hidden = false

    @Option(
        help: ArgumentHelp(
            "Share one file with an unguessable link, which is printed; may be repeated.",
            valueName: "file"
        ),
        completion: .file()
    )
    var share: [String] = []

    @Option(
        help: ArgumentHelp("Lifetime of the links. (default: no limit)", valueName: "seconds"),
        transform: { try OptionSyntax.seconds.parsed($0) }
    )
    var shareExpires: Duration?

    @Option(
        help: ArgumentHelp(
            "Maximum downloads per link; an interrupted download can be resumed and counts once.",
            valueName: "number"
        ),
        transform: { try OptionSyntax.number(1...1_000_000_000).parsed($0) }
    )
    var shareCount: Int?

    @Option(
        help: ArgumentHelp("File whose first line is a password for the links of --share.", valueName: "file"),
        completion: .file()
    )
    var sharePasswordFile: String?

    @Flag(
        inversion: .prefixedNo,
        help: "Print a QR code of each link of --share. (default: if standard output is a terminal)"
    )
    var qr: Bool?

    @Flag(help: "Give the sender of an upload a link to the file, to pass on to people without credentials.")
    var shareUploads = false

    @Flag(help: "Store a record next to each uploaded file: sender, original name, media type.")
    var records = false

    @Option(
        help: ArgumentHelp("Header field to store in the record; may be repeated.", valueName: "name")
    )
    var recordHeader: [String] = []

    @Option(
        help: ArgumentHelp("Cookie to store in the record; may be repeated.", valueName: "name")
    )
    var recordCookie: [String] = []
}

/// Options for access control.
struct ServeAccessOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "File with a token that grants all rights; created if it does not exist.",
            valueName: "file"
        ),
        completion: .file()
    )
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "File with one credential per line: rights (read, write, list or all, with commas), kind (token, basic "
                + "or session) and secret (NAME:PASSWORD for basic).",
            valueName: "file"
        ),
        completion: .file()
    )
    var credentials: String?

    @Flag(help: "Permit reading and listing without credentials; writing and making links require them.")
    var publicRead = false

    @Option(help: ArgumentHelp("Name of the session cookie.", valueName: "name"))
    var sessionCookie = "martlet-session"

    @Option(
        help: ArgumentHelp(
            "Additional host name to accept on loopback; may be repeated.",
            valueName: "name"
        )
    )
    var allowHost: [String] = []

    @Option(
        help: ArgumentHelp(
            "Origin whose web pages may read and write, as scheme://host:port; the port may be '*'; may be repeated.",
            valueName: "origin"
        )
    )
    var allowOrigin: [String] = []
}

/// Options for limits.
struct ServeLimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Maximum bytes of one upload.", valueName: "size"),
        transform: { try OptionSyntax.size.parsed($0) }
    )
    var maxUpload: Int64?

    @Option(
        help: ArgumentHelp(
            "Maximum bytes of all uploads of this run; files, records and directories count in blocks of 4K.",
            valueName: "size"
        ),
        transform: { try OptionSyntax.size.parsed($0) }
    )
    var maxTotal: Int64?

    @Option(
        help: ArgumentHelp("Bytes to leave free on the filesystem. (default: 16M)", valueName: "size"),
        transform: { try OptionSyntax.size.parsed($0) }
    )
    var keepFree: Int64?

    @Option(
        help: ArgumentHelp("Time to keep unfinished uploads; 0 for no limit. (default: 86400)", valueName: "seconds"),
        transform: { try OptionSyntax.seconds.parsed($0) }
    )
    var expiry: Duration?

    @Option(
        help: ArgumentHelp(
            "Time without progress after which a transfer is closed; 0 for no limit. (default: 60)",
            valueName: "seconds"
        ),
        transform: { try OptionSyntax.seconds.parsed($0) }
    )
    var idleTimeout: Duration?

    @Option(
        help: ArgumentHelp("Maximum duration of an upload request. (default: no limit)", valueName: "seconds"),
        transform: { try OptionSyntax.seconds.parsed($0) }
    )
    var uploadTimeout: Duration?

    @Option(
        help: ArgumentHelp(
            "Minimum average bytes per second of an upload; 0 for no minimum. (default: 100)",
            valueName: "size"
        ),
        transform: { try OptionSyntax.size.parsed($0) }
    )
    var minRate: Int64?

    @Option(
        help: ArgumentHelp(
            "Maximum concurrent connections, within the limit of file descriptors. (default: 4096)",
            valueName: "number"
        ),
        transform: { try OptionSyntax.number(1...1_000_000).parsed($0) }
    )
    var maxConnections: Int?

    @Option(
        help: ArgumentHelp("Time for running requests to complete after a stop. (default: 30)", valueName: "seconds"),
        transform: { try OptionSyntax.seconds.parsed($0) }
    )
    var grace: Duration?
}
