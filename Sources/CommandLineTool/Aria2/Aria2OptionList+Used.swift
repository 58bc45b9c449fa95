// SPDX-License-Identifier: Apache-2.0
import Control

/// The options that take effect.
extension Aria2OptionList {
    /// Options of each download; the lines of an input file can set them too.
    static let downloads: [Aria2Option] = [
        // The file.
        download(.dir, .text, "d"), download(.out, .text, "o"), download(.checksum, .digest),
        download(.continue, .flag, "c"), download(.allowOverwrite, .flag), download(.autoFileRenaming, .flag),
        download(.dryRun, .flag), download(.pause, .flag), download(.gid, .text),
        // The request.
        download(.header, .field, isRepeated: true), download(.referer, .text), download(.userAgent, .text, "U"),
        download(.httpUser, .text), download(.httpPassword, .text), download(.httpNoCache, .flag),
        download(.loadCookies, .text),
        download(.allProxy, .text), download(.allProxyUser, .text), download(.allProxyPassword, .text),
        download(.httpProxy, .text), download(.httpProxyUser, .text), download(.httpProxyPassword, .text),
        download(.httpsProxy, .text), download(.httpsProxyUser, .text), download(.httpsProxyPassword, .text),
        download(.noProxy, .text),
        // Connections, rates, failures.
        download(.split, .number(1...Int64.max), "s"), download(.maxConnectionPerServer, .number(1...16), "x"),
        download(.minSplitSize, .size(1_048_576...1_073_741_824), "k"), download(.maxDownloadLimit, .size(anyNumber)),
        download(.lowestSpeedLimit, .size(anyNumber)), download(.maxTries, .number(anyNumber), "m"),
        download(.retryWait, .number(0...600)), download(.timeout, .number(1...600), "t"),
        download(.connectTimeout, .number(1...600)),
    ]

    /// Settings of the run, the queue and the daemon.
    static let runs: [Aria2Option] = [
        run("version", .optionalText, "v"), run("help", .optionalText, "h"), run("no-conf", .flag),
        run("conf-path", .text), run("input-file", .text, "i"), run("force-sequential", .flag, "Z"),
        queue(.maxConcurrentDownloads, .number(1...Int64.max), "j"),
        queue(.maxOverallDownloadLimit, .size(anyNumber)), queue(.saveSession, .text),
        queue(.saveSessionInterval, .number(anyNumber)), queue(.maxDownloadResult, .number(anyNumber)),
        // The output.
        run("quiet", .flag, "q"), run("log", .text, "l"),
        run("log-level", .words(["debug", "info", "notice", "warn", "error"])),
        run("console-log-level", .words(["debug", "info", "notice", "warn", "error"])),
        run("summary-interval", .number(0...2_147_483_647)), run("show-console-readout", .flag),
        run("download-result", .words(["default", "full", "hide"])), run("human-readable", .flag),
        run("enable-color", .flag), run("stderr", .flag),
        // The process.
        run("daemon", .flag, "D"), run("stop", .number(0...2_147_483_647)),
        run("stop-with-process", .number(0...2_147_483_647)),
        // Connections.
        run("ca-certificate", .text), run("check-certificate", .flag), run("disable-ipv6", .flag),
        run("certificate", .text), run("private-key", .text),
        // Credentials and cookies.
        run("no-netrc", .flag, "n"), run("netrc-path", .text), run("save-cookies", .text),
        // The RPC.
        run("enable-rpc", .flag), run("rpc-listen-port", .number(1024...65535)), run("rpc-listen-all", .flag),
        run("rpc-secret", .text), run("rpc-user", .text), run("rpc-passwd", .text),
        run("rpc-allow-origin-all", .flag), run("on-download-start", .text), run("on-download-pause", .text),
        run("on-download-stop", .text), run("on-download-complete", .text), run("on-download-error", .text),
        // Martlet's additions, see martlet daemon: the token from a descriptor, directories in which clients may store
        // files, and names by which they reach this machine.
        run("rpc-secret-fd", .number(0...65535)), run("allow-dir", .text, isRepeated: true),
        run("rpc-allow-host", .text, isRepeated: true),
    ]
}
