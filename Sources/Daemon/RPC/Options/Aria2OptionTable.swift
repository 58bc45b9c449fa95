// SPDX-License-Identifier: Apache-2.0
/// The options of aria2 that have no effect here, and their values in `aria2.getOption` and `aria2.getGlobalOption`.
///
/// Most concern BitTorrent, Metalink, FTP, the console or aria2's own buffers. The values are aria2's defaults, or what
/// this daemon does.
///
/// - Source: `aria2.getGlobalOption` of aria2 1.36, aria2c(1).
package enum Aria2OptionTable {
    /// Options of a transfer, which are also global.
    static let transfer: [(name: String, value: String)] = [
        ("allow-piece-length-change", "false"), ("always-resume", "true"), ("async-dns", "true"),
        ("bt-enable-hook-after-hash-check", "true"), ("bt-enable-lpd", "false"), ("bt-force-encryption", "false"),
        ("bt-hash-check-seed", "true"), ("bt-load-saved-metadata", "false"), ("bt-max-peers", "55"),
        ("bt-metadata-only", "false"), ("bt-min-crypto-level", "plain"), ("bt-remove-unselected-file", "false"),
        ("bt-request-peer-speed-limit", "51200"), ("bt-require-crypto", "false"), ("bt-save-metadata", "false"),
        ("bt-seed-unverified", "false"), ("bt-stop-timeout", "0"), ("bt-tracker-connect-timeout", "60"),
        ("bt-tracker-interval", "0"), ("bt-tracker-timeout", "60"), ("check-integrity", "false"),
        ("content-disposition-default-utf8", "false"), ("enable-http-keep-alive", "true"),
        ("enable-http-pipelining", "false"), ("enable-mmap", "false"), ("enable-peer-exchange", "false"),
        ("file-allocation", "none"), ("follow-metalink", "false"), ("follow-torrent", "false"),
        ("force-save", "false"), ("ftp-pasv", "true"), ("ftp-reuse-connection", "true"), ("ftp-type", "binary"),
        ("hash-check-only", "false"), ("http-accept-gzip", "false"), ("http-auth-challenge", "false"),
        ("max-file-not-found", "0"), ("max-mmap-limit", "9223372036854775807"), ("max-resume-failure-tries", "0"),
        ("metalink-enable-unique-protocol", "true"), ("metalink-preferred-protocol", "none"),
        ("no-file-allocation-limit", "5242880"), ("no-netrc", "true"), ("parameterized-uri", "false"),
        ("pause-metadata", "false"), ("piece-length", "1048576"), ("proxy-method", "get"),
        ("realtime-chunk-checksum", "true"), ("remote-time", "true"), ("remove-control-file", "false"),
        ("reuse-uri", "true"), ("rpc-save-upload-metadata", "true"), ("save-not-found", "true"),
        ("seed-ratio", "1.0"), ("stream-piece-selector", "default"), ("uri-selector", "feedback"),
        ("use-head", "false"),
    ]

    /// Options of the daemon only.
    static let global: [(name: String, value: String)] = [
        ("auto-save-interval", "60"), ("bt-detach-seed-only", "false"), ("bt-max-open-files", "100"),
        ("ca-certificate", ""), ("check-certificate", "true"), ("conf-path", ""), ("console-log-level", "notice"),
        ("daemon", "false"), ("deferred-input", "false"), ("dht-file-path", ""), ("dht-file-path6", ""),
        ("dht-listen-port", "6881-6999"), ("dht-message-timeout", "10"), ("disable-ipv6", "false"),
        ("disk-cache", "0"), ("download-result", "default"), ("dscp", "0"), ("enable-color", "true"),
        ("enable-dht", "false"), ("enable-dht6", "false"), ("enable-rpc", "true"), ("event-poll", "epoll"),
        ("help", "#basic"), ("human-readable", "true"), ("keep-unfinished-download-result", "true"),
        ("listen-port", "6881-6999"), ("log-level", "debug"), ("max-overall-upload-limit", "0"),
        ("min-tls-version", "TLSv1.2"), ("netrc-path", ""), ("no-conf", "true"),
        ("optimize-concurrent-downloads", "false"), ("peer-agent", ""), ("peer-id-prefix", ""), ("quiet", "false"),
        ("rlimit-nofile", "0"), ("rpc-allow-origin-all", "false"), ("rpc-listen-all", "false"),
        ("rpc-listen-port", "6800"), ("rpc-max-request-size", "8388608"), ("rpc-secure", "false"),
        ("server-stat-timeout", "86400"), ("show-console-readout", "true"), ("show-files", "false"),
        ("socket-recv-buffer-size", "0"), ("stderr", "false"), ("stop", "0"), ("summary-interval", "60"),
        ("truncate-console-readout", "true"),
    ]

    /// Options of a transfer whose other values would change the result, and the alternative.
    static let refused: [(name: String, remedy: String)] = [
        ("hash-check-only", "check the file with a program such as sha256sum"),
        ("parameterized-uri", "add each URI separately"),
    ]

    /// Global options for files that this daemon neither reads nor writes, and the alternative.
    static let refusedGlobally: [(name: String, remedy: String)] = [
        ("log", "read the log of martletd, which is written to standard error"),
        ("save-cookies", "cookies are not stored; pass the required ones with load-cookies"),
        ("server-stat-of", "server statistics are not available"),
    ]

    /// Whether an option of a transfer has no effect here, whatever its value is.
    package static func isWithoutEffect(_ name: String) -> Bool {
        self.transfer.contains { $0.name == name } && self.remedy(for: name) == nil
    }

    /// The alternative to an option of a transfer that is refused unless it is false, or `nil`.
    package static func remedy(for name: String) -> String? { self.refused.first { $0.name == name }?.remedy }
}
