// SPDX-License-Identifier: Apache-2.0
import Control

/// The options that change nothing, and those that are refused.
extension Aria2OptionList {
    /// Options of mechanisms that this program does not have, or of what it always does.
    static let unused: [Aria2Option] = [
        none("auto-save-interval", .number(0...600)), none("piece-length", .size(1_048_576...1_073_741_824)),
        none("file-allocation", .words(["none", "prealloc", "trunc", "falloc"])),
        none("no-file-allocation-limit", .size(anyNumber)), none("realtime-chunk-checksum", .flag),
        none("check-integrity", .flag, "V"), none("deferred-input", .flag),
        none("optimize-concurrent-downloads", .optionalText), none("allow-piece-length-change", .flag),
        none("async-dns", .flag), none("enable-async-dns6", .flag), none("async-dns-server", .text),
        none("uri-selector", .words(["inorder", "feedback", "adaptive"])),
        none("stream-piece-selector", .words(["default", "inorder", "random", "geom"])),
        none("server-stat-timeout", .number(0...2_147_483_647)), none("server-stat-if", .text),
        none("remote-time", .flag, "R"), none("max-file-not-found", .number(anyNumber)),
        none("event-poll", .words(["epoll", "poll", "select"])), none("reuse-uri", .flag),
        none("remove-control-file", .flag), none("always-resume", .flag),
        none("max-resume-failure-tries", .number(anyNumber)), none("truncate-console-readout", .flag),
        none("enable-mmap", .flag), none("max-mmap-limit", .size(anyNumber)), none("force-save", .flag),
        none("save-not-found", .flag), none("disk-cache", .size(anyNumber)), none("dscp", .number(anyNumber)),
        none("rlimit-nofile", .number(1...Int64.max)), none("socket-recv-buffer-size", .size(0...16_777_216)),
        none("keep-unfinished-download-result", .flag), none("enable-http-keep-alive", .flag),
        none("enable-http-pipelining", .flag), none("use-head", .flag), none("http-auth-challenge", .flag),
        none("http-accept-gzip", .flag), none("content-disposition-default-utf8", .flag),
        none("proxy-method", .words(["get", "tunnel"])),
        none("rpc-max-request-size", .size(anyNumber)), none("rpc-save-upload-metadata", .flag),
    ]

    /// Options of BitTorrent, Metalink, FTP and SFTP.
    static let otherProtocols: [Aria2Option] = [
        other("ftp-user", .text), other("ftp-passwd", .text), other("ftp-type", .words(["binary", "ascii"])),
        other("ftp-pasv", .flag, "p"), other("ftp-reuse-connection", .flag), other("ftp-proxy", .text),
        other("ftp-proxy-user", .text), other("ftp-proxy-passwd", .text), other("ssh-host-key-md", .text),
        other("max-overall-upload-limit", .size(anyNumber)), other("max-upload-limit", .size(anyNumber), "u"),
        other("listen-port", .text), other("follow-torrent", .words(["true", "mem", "false"])),
        other("select-file", .text), other("seed-time", .text), other("seed-ratio", .text),
        other("peer-id-prefix", .text), other("peer-agent", .text), other("enable-peer-exchange", .flag),
        other("enable-dht", .flag), other("dht-listen-port", .text), other("dht-entry-point", .text),
        other("dht-file-path", .text), other("enable-dht6", .flag), other("dht-listen-addr6", .text),
        other("dht-entry-point6", .text), other("dht-file-path6", .text),
        other("bt-min-crypto-level", .words(["plain", "arc4"])), other("bt-require-crypto", .flag),
        other("bt-request-peer-speed-limit", .size(anyNumber)), other("bt-max-open-files", .number(anyNumber)),
        other("bt-seed-unverified", .flag), other("bt-hash-check-seed", .flag),
        other("bt-max-peers", .number(anyNumber)),
        other("bt-external-ip", .text), other("index-out", .text, "O"),
        other("bt-tracker-interval", .number(anyNumber)),
        other("bt-stop-timeout", .number(anyNumber)), other("bt-prioritize-piece", .text),
        other("bt-save-metadata", .flag), other("bt-metadata-only", .flag), other("bt-enable-lpd", .flag),
        other("bt-lpd-interface", .text), other("bt-tracker-timeout", .number(1...600)),
        other("bt-tracker-connect-timeout", .number(1...600)), other("dht-message-timeout", .number(1...60)),
        other("on-bt-download-complete", .text), other("bt-tracker", .text), other("bt-exclude-tracker", .text),
        other("bt-remove-unselected-file", .flag), other("bt-detach-seed-only", .flag),
        other("bt-force-encryption", .flag), other("bt-enable-hook-after-hash-check", .flag),
        other("bt-load-saved-metadata", .flag), other("pause-metadata", .flag), other("metalink-version", .text),
        other("metalink-language", .text), other("metalink-os", .text), other("metalink-location", .text),
        other("follow-metalink", .words(["true", "mem", "false"])),
        other("metalink-preferred-protocol", .words(["http", "https", "ftp", "none"])),
        other("metalink-enable-unique-protocol", .flag), other("metalink-base-uri", .text),
    ]

    /// Options that would change the result, and the alternatives.
    static let refused: [Aria2Option] = [
        refused("torrent-file", .text, letter: "T", "use a BitTorrent client"),
        refused("metalink-file", .text, letter: "M", "give the URLs in the file"),
        refused("show-files", .flag, letter: "S", unless: "false", "it is for torrents and Metalink files"),
        refused(
            "parameterized-uri",
            .flag,
            letter: "P",
            unless: "false",
            "let the shell expand {a,b}, or list the URLs with -i"
        ),
        refused("hash-check-only", .flag, unless: "false", "check the file with a program such as sha256sum"),
        refused("conditional-get", .flag, unless: "false", "-c skips a file that is complete"),
        refused("interface", .text, unless: "", "leave it out; the system's routes choose the interface"),
        refused("multiple-interface", .text, unless: "", "leave it out; the system's routes choose the interface"),
        refused("server-stat-of", .text, unless: "", "server statistics are not available"),
        refused(
            "min-tls-version",
            .words(["SSLv3", "TLSv1", "TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3"]),
            unless: "TLSv1.2",
            "leave it out; TLS 1.2 and 1.3 are used"
        ),
        refused("rpc-secure", .flag, unless: "false", "put a proxy with TLS in front, or forward the port with ssh"),
        refused("rpc-certificate", .text, unless: "", "put a proxy with TLS in front, or forward the port with ssh"),
        refused("rpc-private-key", .text, unless: "", "put a proxy with TLS in front, or forward the port with ssh"),
    ]
}
