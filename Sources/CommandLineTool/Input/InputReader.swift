// SPDX-License-Identifier: Apache-2.0
import Control

/// The command that reads an input file.
enum InputReader: Sendable {
    /// `martlet get`.
    case get
    /// `martlet add`.
    case add
    /// `aria2c` in place, without its RPC.
    case aria2c
    /// `aria2c --enable-rpc`.
    case aria2cDaemon

    /// Whether URLs that cannot be fetched are left out if a file has others.
    var skipsMirrors: Bool { self == .aria2c || self == .aria2cDaemon }
}

/// How a reader of an input file handles an option of one file.
enum InputOptionUse: Equatable {
    /// It takes effect.
    case honoured
    /// It changes nothing for this reader.
    case silent
    /// It is left out with a warning, which gives the reason.
    case ignored(String)
    /// The entry is refused; the text is the alternative.
    case refused(String)
}

extension OptionName {
    /// The use of the option on the line of a file.
    ///
    /// `out`, `dir`, `checksum`, `header`, `referer` and `user-agent` have their own members in ``InputEntry``.
    func use(by reader: InputReader) -> InputOptionUse {
        switch self {
        case .maxConcurrentDownloads, .maxOverallDownloadLimit, .maxDownloadResult, .saveSession, .saveSessionInterval,
            .notify:
            return .ignored("it is for all files; give it on the command line")
        case .position: return .ignored("the place in the queue is the line's; see martlet add --position")
        default: return reader == .add || reader == .aria2cDaemon ? .honoured : self.useInRun(reader)
        }
    }

    /// The use in a run without the daemon.
    private func useInRun(_ reader: InputReader) -> InputOptionUse {
        switch self {
        case .gid: reader == .aria2c ? .honoured : .ignored("only files in the daemon's queue have ids")
        case .pause:
            reader == .aria2c
                ? .silent : .ignored("martlet get fetches all files; martlet add keeps this one waiting in the queue")
        case .continue: reader == .aria2c ? .honoured : .silent
        case .description, .userInfo: .silent
        case .maxUploadLimit: .silent
        case .allProxy, .allProxyUser, .allProxyPassword, .httpProxy, .httpProxyUser, .httpProxyPassword, .httpsProxy,
            .httpsProxyUser, .httpsProxyPassword, .noProxy:
            .refused("set the proxy for all files on the command line, or use martlet add")
        case .deniedAddresses: .refused("use --deny-private-addresses, or martlet add")
        case .conditionalGet, .method, .body, .conditions: .refused("use martlet add")
        default: .honoured
        }
    }
}
