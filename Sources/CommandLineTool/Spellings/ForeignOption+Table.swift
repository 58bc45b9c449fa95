// SPDX-License-Identifier: Apache-2.0
import TransferCore

extension ForeignOption {
    /// The table, by subject.
    ///
    /// - Source: curl(1) 7.88, wget(1) 1.21, aria2c(1) 1.36.
    static let all: [ForeignOption] =
        Self.files + Self.names + Self.requests + Self.credentials + Self.trust + Self.failures + Self.rates
        + Self.output
        + Self.clashes + Self.refused

    private static let resumes = "an interrupted file is continued by the same command"

    /// Where files are stored.
    private static let files = [
        Self("--continue", [.wget, .aria2], .truth, .usual(Self.resumes)),
        Self(
            "-C --continue-at",
            [.curl],
            .value,
            .words(shown: "nothing, if it is -") { text throws(SyntaxError) in
                guard text == "-" else {
                    throw SyntaxError.option(
                        "is an offset, and martlet finds it itself",
                        write: "- or nothing; the same command continues an interrupted file"
                    )
                }
                return []
            }
        ),
        Self("-P --directory-prefix", [.wget], .value, .option("--directory")),
        Self("--output-dir", [.curl], .value, .option("--directory")),
        Self("--dir", [.aria2], .value, .option("--directory")),
        Self("--out", [.aria2], .value, .option("--output")),
        Self("--output-document", [.wget], .value, .option("--output")),
        Self("--remote-name --remote-name-all", [.curl], .flag, .usual("files have the server's or the URL's names")),
        Self("-J --remote-header-name", [.curl], .flag, .usual("the server's name for the file is used")),
        Self("--content-disposition", [.wget], .flag, .usual("the server's name for the file is used")),
        Self("--create-dirs", [.curl], .flag, .usual("directories are created")),
        Self("-nd --no-directories", [.wget], .flag, .usual("no directories are made from URLs")),
        Self("--remote-time", [.curl, .aria2], .truth, .usual("files have the server's time")),
        Self("--remove-on-error", [.curl], .flag, .usual("a file gets its name when it is complete")),
        Self("--file-allocation", [.aria2], .value, .usual("space is reserved where that costs nothing")),
        Self("--check-integrity", [.aria2], .truth, .usual("digests are verified")),
        Self(
            "--allow-overwrite",
            [.aria2],
            .truth,
            .words(shown: "--if-exists overwrite") { $0 == "false" ? [] : ["--if-exists=overwrite"] }
        ),
        Self(
            "--auto-file-renaming",
            [.aria2],
            .truth,
            .words(shown: "--if-exists fail, if it is false") { $0 == "false" ? ["--if-exists=fail"] : [] }
        ),
        Self("-nc", [.wget], .flag, .words(shown: "--if-exists skip") { _ in ["--if-exists=skip"] }),
        Self("--conditional-get", [.aria2], .truth, .words(shown: "--timestamping", Self.flag("--timestamping"))),
        Self("--spider", [.wget], .flag, .option("--dry-run")),
        Self("-I --head", [.curl], .flag, .option("--dry-run")),
    ]

    /// Several files, names and addresses.
    private static let names = [
        Self("-g --globoff", [.curl], .flag, .usual("URLs are taken as they are")),
        Self("-Z --parallel", [.curl], .flag, .usual("up to --jobs files are fetched at once")),
        Self("--parallel-max", [.curl], .value, .option("--jobs")),
        Self("--parallel-immediate", [.curl], .flag, .usual("connections are opened at once")),
        Self("--max-concurrent-downloads", [.aria2], .value, .option("--jobs")),
        Self("--force-sequential", [.aria2], .truth, .usual("each URL is a file")),
        Self("--split --max-connection-per-server", [.aria2], .value, .option("--connections")),
        Self("--inet4-only", [.wget], .flag, .option("--ipv4")),
        Self("--inet6-only", [.wget], .flag, .option("--ipv6")),
        Self("--disable-ipv6", [.aria2], .truth, .words(shown: "--ipv4", Self.flag("--ipv4"))),
    ]

    /// Requests and proxies.
    private static let requests = [
        Self(
            "--http-no-cache",
            [.aria2],
            .truth,
            .words(shown: "--no-cache, if it is true") { $0 == "false" ? [] : ["--no-cache"] }
        ),
        Self("-L --location", [.curl], .flag, .usual("redirects are followed")),
        Self("--max-redirs", [.curl], .value, .option("--max-redirects")),
        Self("--max-redirect", [.wget], .value, .option("--max-redirects")),
        Self("--compressed", [.curl], .flag, .usual("files are requested without a coding of the transfer")),
        Self("--http-accept-gzip", [.aria2], .truth, .usual("files are requested without a coding of the transfer")),
        Self("--http1.1 --http2", [.curl], .flag, .usual("HTTP/1.1 is used, which such servers also speak")),
        Self("--enable-http-pipelining", [.aria2], .truth, .usual("connections are kept and used again")),
        Self("--enable-http-keep-alive", [.aria2], .truth, .usual("connections are kept and used again")),
        Self("--all-proxy", [.aria2], .value, .option("--proxy")),
        Self("--noproxy", [.curl], .value, .option("--no-proxy")),
        Self("--save-cookies", [.wget, .aria2], .value, .option("--cookie-jar")),
        Self("--keep-session-cookies", [.wget], .flag, .usual("a cookie jar has session cookies, too")),
    ]

    /// Users and passwords.
    private static let credentials = [
        Self("-u", [.curl], .value, .option("--user")),
        Self("--http-user", [.wget, .aria2], .value, .user),
        Self("--http-passwd --http-password", [.wget, .aria2], .value, .password),
        Self("--password", [.wget], .value, .password),
        Self("--basic --anyauth", [.curl], .flag, .usual("the server's challenge is answered")),
        Self(
            "--auth-no-challenge",
            [.wget],
            .flag,
            .answer("credentials are sent when the server asks for them; leave it out")
        ),
        Self("--http-auth-challenge", [.aria2], .truth, .usual("credentials are sent when the server asks for them")),
        Self("--no-netrc", [.wget], .flag, .usual("~/.netrc is read only with --netrc")),
        Self("--netrc-path", [.aria2], .value, .option("--netrc-file")),
        Self(
            "--oauth2-bearer",
            [.curl],
            .value,
            .answer("others would see the token in the list of processes; write --bearer-file FILE")
        ),
    ]

    /// Certificates.
    private static let trust = [
        Self("--no-check-certificate", [.wget], .flag, .option("--insecure")),
        Self(
            "--check-certificate",
            [.aria2],
            .truth,
            .words(shown: "--insecure, if it is false") { $0 == "false" ? ["--insecure"] : [] }
        ),
        Self("--ca-certificate", [.wget, .aria2], .value, .option("--cacert")),
        Self("--certificate", [.wget, .aria2], .value, .option("--cert")),
        Self("--private-key", [.wget, .aria2], .value, .option("--key")),
        Self("--pinnedpubkey", [.curl], .value, .option("--pin")),
        Self("--tlsv1.2 --tlsv1", [.curl], .flag, .usual("TLS 1.2 is the lowest version")),
        Self("--https-only", [.wget], .flag, .usual("a redirect from https to http is refused")),
    ]

    /// Retries and timeouts.
    private static let failures = [
        Self("--retry", [.curl], .value, .option("--retries")),
        Self("--tries", [.wget], .value, .words(shown: "--retries, one less", Self.tries)),
        Self("--max-tries", [.aria2], .value, .words(shown: "--retries, one less", Self.tries)),
        Self("--retry-delay", [.curl], .value, .option("--retry-wait")),
        Self(
            "--retry-connrefused",
            [.curl, .wget],
            .flag,
            .usual("a host that refuses is tried for --outage-timeout")
        ),
        Self(
            "--retry-on-host-error",
            [.wget],
            .flag,
            .usual("a host without an address is tried for --outage-timeout")
        ),
        Self("--retry-on-http-error", [.wget], .value, .words(shown: "--retry-status", Self.statuses)),
        Self(
            "--timeout",
            [.wget, .aria2],
            .value,
            .words(shown: "--connect-timeout and --stall-timeout") {
                ["--connect-timeout=\($0)", "--stall-timeout=\($0)"]
            }
        ),
        Self("--read-timeout", [.wget], .value, .option("--stall-timeout")),
        Self("--lowest-speed-limit", [.aria2], .value, .option("--min-rate")),
        Self("-Y --speed-limit", [.curl], .value, .option("--min-rate")),
        Self("-y --speed-time", [.curl], .value, .option("--min-rate-time")),
        Self("-f --fail", [.curl], .flag, .usual("an error page is a failure and is not stored")),
        Self(
            "--fail-early",
            [.curl],
            .flag,
            .answer("the other files are fetched; each URL that failed is reported; leave it out")
        ),
    ]

    private static let rates = [
        Self("--max-overall-download-limit", [.aria2], .value, .option("--limit-rate")),
        Self("--wait", [.wget], .value, .option("--host-interval")),
    ]

    private static let output = [
        Self("--silent", [.curl], .flag, .option("--quiet")),
        Self("-nv --no-verbose", [.wget], .flag, .option("--quiet")),
        Self("--show-error", [.curl], .flag, .usual("failures are printed, also with --quiet")),
        Self("-# --progress-bar", [.curl], .flag, .usual("progress is shown on a terminal")),
        Self("--show-progress", [.wget], .flag, .usual("progress is shown on a terminal")),
        Self("--progress", [.wget], .value, .usual("progress is shown on a terminal")),
        Self("--no-progress-meter", [.curl], .flag, .option("--no-progress")),
        Self("--summary-interval", [.aria2], .value, .usual("progress is shown on a terminal")),
        Self("--download-result", [.aria2], .value, .usual("each file is reported")),
        Self("--console-log-level", [.aria2], .value, .usual("failures are printed; --verbose prints more")),
        Self("--no-conf", [.aria2], .truth, .usual("no file of settings is read")),
        Self("--no-config", [.wget], .flag, .usual("no file of settings is read")),
    ]

    /// Whether a truth value asks for a flag of ours.
    private static func flag(_ name: String) -> @Sendable (String) throws(SyntaxError) -> [String] {
        { text throws(SyntaxError) in text == "false" ? [] : [name] }
    }

    /// The number of retries for a number of tries; 0 and inf are unlimited.
    private static let tries: @Sendable (String) throws(SyntaxError) -> [String] = { text throws(SyntaxError) in
        if text == "0" || text == "inf" { return ["--retries=1000000"] }
        return ["--retries=\(try OptionSyntax.number(1...1_000_001).value(text) - 1)"]
    }

    /// Statuses, separated by commas.
    private static let statuses: @Sendable (String) throws(SyntaxError) -> [String] = { text throws(SyntaxError) in
        text.split(separator: ",").map { "--retry-status=\($0)" }
    }
}
