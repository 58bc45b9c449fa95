// SPDX-License-Identifier: Apache-2.0
package import TransferCore

// Connections, their number and their rate.

extension OptionEntry {
    static let connections = [
        Self(OptionSpec.connections), Self(OptionSpec.minSplitSize), Self(OptionSpec.limitRate),
    ]
}

extension OptionSpec<Int> {
    /// The number of concurrent files.
    package static var jobs: Self {
        Self(
            "jobs",
            letters: "j",
            .number(1...10_000),
            "Maximum concurrent files; if above 1, files whose host is silent for 5 s do not count.",
            standard: "5"
        )
    }

    /// The number of connections of a file.
    package static var connections: Self {
        Self(
            "connections",
            letters: "x",
            .number(1...1024),
            "Connections per file.",
            standard: "up to 4, while more increase the rate",
            stored: "split"
        ) {
            $0.connections = .fixed($1)
        }
    }

    /// The number of connections to a host.
    package static var perHost: Self {
        Self(
            "per-host",
            .number(1...10_000),
            "Maximum connections per host.",
            standard: "the larger of --jobs and --connections"
        )
    }

    /// The number of connections to a registered domain.
    package static var perDomain: Self {
        Self(
            "per-domain",
            .number(1...10_000),
            "Maximum connections to all hosts of a registered domain, such as example.co.uk.",
            standard: "no limit"
        )
    }
}

extension OptionSpec<Int64> {
    /// The smallest part for another connection.
    package static var minSplitSize: Self {
        Self(
            "min-split-size",
            .size,
            "Minimum size of the part for an additional connection.",
            standard: "1M",
            stored: "min-split-size"
        ) {
            $0.minimumSplit = max(1, $1)
        }
    }

    /// The maximum rate.
    package static var limitRate: Self {
        Self(
            "limit-rate",
            .size,
            "Maximum bytes per second for the whole run.",
            standard: "0, no limit",
            stored: "max-download-limit"
        )
    }
}

extension OptionSpec<String> {
    package static var mirror: Self {
        Self(
            "mirror",
            .text("url"),
            "Another URL of the same file, used in addition to the first; may be repeated."
        )
    }

    /// The command for a fresh URL.
    package static var refreshCommand: Self {
        Self(
            "refresh-command",
            .text("command"),
            "Run a shell command for a fresh URL when the server responds with 401, 403 or 410.",
            details: """
                The command prints the URL on the first line of its standard output; the download continues after the \
                bytes already received. It gets the refused URL in MARTLET_URL and the status in MARTLET_STATUS, and \
                may run for 60 seconds.
                """
        )
    }
}

extension OptionSpec<Priority> {
    /// The priority of files within a run.
    package static var priority: OptionSpec<Priority> {
        Self(
            "priority",
            .choice("priority", Priority.allCases.reversed()) { $0.name },
            "Priority of the files: foreground, high, normal or low.",
            standard: "normal"
        ) {
            $0.priority = $1
        }
    }
}

extension OptionSpec<Duration> {
    /// The interval of requests to a host.
    package static var hostInterval: Self {
        Self(
            "host-interval",
            .seconds,
            "Minimum seconds between the starts of two requests to a host.",
            standard: "0"
        )
    }

    /// The interval of requests to a registered domain.
    package static var domainInterval: Self {
        Self(
            "domain-interval",
            .seconds,
            "Minimum seconds between the starts of two requests to a registered domain.",
            standard: "0"
        )
    }

    /// The longest delay that a server may ask for.
    package static var maxRetryAfter: Self {
        Self(
            "max-retry-after",
            .seconds,
            "Fail if a server asks to retry after more seconds than this.",
            standard: "shorten the wait to 300"
        ) {
            $0.maximumRetryAfter = $1 == .zero ? .seconds(366 * 86_400) : $1
        }
    }
}

extension OptionSpec<Bool> {
    /// Whether only IPv4 addresses are used.
    package static var ipv4: Self { Self("ipv4", letters: "4", .flag, "Connect to IPv4 addresses only.") }

    /// Whether only IPv6 addresses are used.
    package static var ipv6: Self { Self("ipv6", letters: "6", .flag, "Connect to IPv6 addresses only.") }

    /// Whether robots.txt is obeyed.
    package static var robots: Self {
        Self(
            "robots",
            .flag,
            "Obey each origin's robots.txt (RFC 9309).",
            details: """
                It is fetched once per run, and transfers of the origin wait for it. The first word of the User-Agent \
                field selects the rules. A Crawl-delay of up to 30 seconds raises --host-interval. Files that it \
                denies fail with the reason robots-denied. If the server refuses it (429, 5xx), they wait as in an \
                outage.
                """
        )
    }
}
