// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

// Retries and timeouts.

extension OptionEntry {
    static let failures = [
        Self(OptionSpec.retries), Self(OptionSpec.retryWait), Self(OptionSpec.connectTimeout),
        Self(OptionSpec.stallTimeout), Self(OptionSpec.outageTimeout), Self(OptionSpec.maxTime),
        Self(OptionSpec.minRate),
    ]
}

extension OptionSpec<Int> {
    package static var retries: Self {
        Self(
            "retries",
            .number(0...1_000_000),
            "Retries without progress before giving up.",
            standard: "5",
            stored: "max-tries"
        ) {
            $0.retries = $1
        }
        // aria2's number includes the first attempt; 0 is unlimited.
        .storing { "\($0 + 1)" }
    }

    package static var retryStatus: Self {
        Self(
            "retry-status",
            .status,
            "Response status to retry; may be repeated.",
            standard: "408, 429, 500, 502, 503, 504"
        )
    }
}

extension OptionSpec<Duration> {
    /// The minimum time between attempts.
    package static var retryWait: Self {
        Self(
            "retry-wait",
            .seconds,
            "Minimum seconds between two attempts; a server's Retry-After and repeated failures make it longer.",
            standard: "0",
            stored: "retry-wait"
        ) {
            $0.retryWait = $1
        }
    }

    package static var connectTimeout: Self {
        Self(
            "connect-timeout",
            .seconds,
            "Maximum seconds for name resolution, connection and TLS handshake.",
            standard: "30",
            stored: "connect-timeout"
        ) {
            $0.connectTimeout = $1
        }
    }

    /// The timeout of a silent server.
    package static var stallTimeout: Self {
        Self(
            "stall-timeout",
            .seconds,
            "Maximum seconds without a byte received, or for a complete response head.",
            standard: "60",
            stored: "timeout"
        ) {
            $0.stallTimeout = $1
        }
    }

    /// The longest outage.
    package static var outageTimeout: Self {
        Self(
            "outage-timeout",
            .seconds,
            "Seconds to wait while the host or the network is unreachable or out of order.",
            standard: "30",
            details: """
                The time starts when the host becomes unreachable, or when three transfers with different URLs \
                received 429, 502, 503, 504 or 520 to 530 and nothing else came from the host. Transfers that wait \
                for the host do not use retries; martlet makes one attempt at a time for all of them. With 0, each \
                transfer uses its own retries. The same time applies to a file system that is full or read-only.
                """,
            stored: "outage-timeout"
        ) {
            $0.outageTimeout = $1 == .zero ? nil : $1
        }
    }

    /// The time over which the lowest rate is averaged.
    package static var minRateTime: Self {
        Self("min-rate-time", .seconds, "Seconds over which --min-rate is averaged.", standard: "30")
    }

    /// The timeout of a transfer.
    package static var maxTime: Self {
        Self(
            "max-time",
            .seconds,
            "Maximum seconds for one file from its start.",
            standard: "no limit",
            stored: "resource-timeout"
        ) {
            $0.totalTimeout = $1
        }
    }
}

extension OptionSpec<Int64> {
    /// The lowest rate.
    package static var minRate: Self {
        Self(
            "min-rate",
            .size,
            "Fail a file that stays slower than this many bytes per second; 0 for none.",
            standard: "0, tables: 1K",
            details: """
                Only if the server would continue what is kept. Time in which --limit-rate, the disk or the reader of \
                the output sets the rate does not count. Other mirrors are tried first.
                """,
            stored: "lowest-speed-limit"
        )
    }
}
