// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

// Options of the receiver, martlet serve.

extension OptionSpec<String> {
    static var serverListen: Self {
        Self(
            "listen",
            .text("address:port"),
            "Address to listen on; port 0 picks a free port and prints it.",
            standard: "127.0.0.1:8080"
        )
    }

    static var basePath: Self {
        Self("base-path", .text("path"), "Path below which a proxy serves the directory, such as /files.")
    }

    static var trustedProxy: Self {
        Self(
            "trusted-proxy",
            .text("address"),
            "Address or network (10.0.0.0/8) of a proxy whose Forwarded or X-Forwarded-For, -Proto and -Host "
                + "fields name the client; may be repeated."
        )
    }

    static var tlsCertificate: Self { Self("tls-certificate", .file(), "Certificate with its chain, PEM.") }

    static var tlsKey: Self { Self("tls-key", .file(), "Private key of the certificate, PEM.") }

    static var accessLog: Self {
        Self("access-log", .file(), "Access log: a file, '-' for standard error, or 'none'.", standard: "-")
    }

    static var share: Self {
        Self("share", .file(), "Share one file with an unguessable link, which is printed; may be repeated.")
    }

    static var sharePasswordFile: Self {
        Self("share-password-file", .file(), "File whose first line is a password for the links of --share.")
    }

    static var recordHeader: Self {
        Self("record-header", .text("name"), "Header field to store in the record; may be repeated.")
    }

    static var recordCookie: Self {
        Self("record-cookie", .text("name"), "Cookie to store in the record; may be repeated.")
    }

    static var tokenFile: Self {
        Self("token-file", .file(), "File with a token that grants all rights; created if it does not exist.")
    }

    static var credentials: Self {
        Self(
            "credentials",
            .file(),
            "File with one credential per line: rights (read, write, list or all, with commas), kind (token, "
                + "basic or session) and secret (NAME:PASSWORD for basic)."
        )
    }

    static var sessionCookie: Self {
        Self("session-cookie", .text("name"), "Name of the session cookie.", standard: "martlet-session")
    }

    static var allowHost: Self {
        Self("allow-host", .text("name"), "Additional host name to accept on loopback; may be repeated.")
    }

    static var allowOrigin: Self {
        Self(
            "allow-origin",
            .text("origin"),
            "Origin whose web pages may read and write, as scheme://host:port; the port may be '*'; may be "
                + "repeated."
        )
    }
}

extension OptionSpec<Bool> {
    static var tlsSelfSigned: Self {
        Self("tls-self-signed", .flag, "Encrypt with a self-signed certificate; its path and its pin are printed.")
    }

    static var readOnly: Self { Self("read-only", .flag, "Refuse uploads.") }

    static var overwrite: Self { Self("overwrite", .flag, "Let uploads replace existing files.") }

    static var hidden: Self { Self("hidden", .flag, "Also serve names that start with a dot.") }

    static var qr: Self {
        Self("qr", .flag, "Print a QR code of each link of --share.", standard: "if standard output is a terminal")
    }

    static var shareUploads: Self {
        Self(
            "share-uploads",
            .flag,
            "Give the sender of an upload a link to the file, to pass on to people without credentials."
        )
    }

    static var records: Self {
        Self("records", .flag, "Store a record next to each uploaded file: sender, original name, media type.")
    }

    static var publicRead: Self {
        Self(
            "public-read",
            .flag,
            "Permit reading and listing without credentials; writing and making links require them."
        )
    }
}

extension OptionSpec<Duration> {
    static var shareExpires: Self { Self("share-expires", .seconds, "Lifetime of the links.", standard: "no limit") }

    static var expiry: Self {
        Self("expiry", .seconds, "Time to keep unfinished uploads; 0 for no limit.", standard: "86400")
    }

    static var idleTimeout: Self {
        Self(
            "idle-timeout",
            .seconds,
            "Time without progress after which a transfer is closed; 0 for no limit.",
            standard: "60"
        )
    }

    static var uploadTimeout: Self {
        Self("upload-timeout", .seconds, "Maximum duration of an upload request.", standard: "no limit")
    }

    static var grace: Self {
        Self("grace", .seconds, "Time for running requests to complete after a stop.", standard: "30")
    }
}

extension OptionSpec<Int> {
    static var shareCount: Self {
        Self(
            "share-count",
            .number(1...1_000_000_000),
            "Maximum downloads per link; an interrupted download can be resumed and counts once."
        )
    }

    static var maxConnections: Self {
        Self(
            "max-connections",
            .number(1...1_000_000),
            "Maximum concurrent connections, within the limit of file descriptors.",
            standard: "4096"
        )
    }
}

extension OptionSpec<Int64> {
    static var maxUpload: Self { Self("max-upload", .size, "Maximum bytes of one upload.") }

    static var maxTotal: Self {
        Self(
            "max-total",
            .size,
            "Maximum bytes of all uploads of this run; files, records and directories count in blocks of 4K."
        )
    }

    static var keepFree: Self { Self("keep-free", .size, "Bytes to leave free on the filesystem.", standard: "16M") }

    static var leastUploadRate: Self {
        Self("min-rate", .size, "Minimum average bytes per second of an upload; 0 for no minimum.", standard: "100")
    }
}
