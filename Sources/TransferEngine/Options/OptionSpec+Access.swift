// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

// Credentials, cookies and the client's certificate.

extension OptionSpec<String> {
    /// The user name and the password of the server.
    package static var user: Self {
        Self(
            "user",
            .text("name[:password]"),
            "User name and password of the server; without a password, it is asked for on the terminal.",
            details: """
                Sent by Basic at once, or by Digest if the server requires that; to the host of each URL only, and not \
                to mirrors and other hosts after a redirect. A user name in a URL precedes it. Other users do not see \
                it in the list of processes.
                """
        )
    }

    package static var netrcFile: Self {
        Self("netrc-file", .file(), "Use the user names and passwords of this netrc file.")
    }

    /// The file with a token.
    package static var bearerFile: Self {
        Self(
            "bearer-file",
            .file(),
            "Send the token on the first line of a file as 'Authorization: Bearer TOKEN', as --header would."
        )
    }

    /// The file with cookies.
    package static var loadCookies: Self {
        Self(
            "load-cookies",
            .file(),
            "Cookies of a file in Netscape's form, as curl, wget and browser extensions write it."
        )
    }

    /// The file to which cookies are written.
    package static var cookieJar: Self {
        Self(
            "cookie-jar",
            .file(),
            "Write all cookies to a file in Netscape's form at the end, also those of the session.",
            details: """
                Cookies that servers set are used for the other requests of the same run, except with tables; with \
                this option or --load-cookies, also with tables. The file is readable by its owner only.
                """
        )
    }

    /// The client's certificate.
    package static var cert: Self {
        Self(
            "cert",
            .file(),
            "Client certificate in a PEM file, with intermediate ones, for servers that require one."
        )
    }

    /// The key of the client's certificate.
    package static var key: Self {
        Self(
            "key",
            .file(),
            "Private key of --cert in a PEM file; by default in the same file. A passphrase is asked for."
        )
    }
}

extension OptionSpec<Bool> {
    /// Whether the user's netrc file is used.
    package static var netrc: Self {
        Self(
            "netrc",
            .flag,
            "Use the user names and passwords of ~/.netrc, or of the file that $NETRC names.",
            details: """
                Each is for the host that the file names, also after a redirect, but then over https only. The file \
                must be readable by its owner only.
                """
        )
    }

    /// Whether passwords are used for Digest only.
    package static var digestOnly: Self {
        Self("digest-only", .flag, "Use passwords for Digest only, so that they are never sent themselves.")
    }
}
