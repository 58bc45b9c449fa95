// SPDX-License-Identifier: Apache-2.0
internal import TransferEngine

/// How an upload resumes after an interruption.
public struct Resumption: Sendable, Hashable {
    let way: UploadWay

    init(way: UploadWay) { self.way = way }

    /// Reads the daemon's name; `nil` if it is unknown.
    init?(name: String) {
        switch name {
        case "auto": self.way = .automatic
        case "none": self.way = .plain
        default:
            guard let speaks = ResumableProtocol(rawValue: name) else { return nil }
            self.way = .by(speaks)
        }
    }

    /// The daemon's name.
    var name: String {
        switch self.way {
        case .automatic: "auto"
        case .plain: "none"
        case .by(let speaks): speaks.rawValue
        }
    }

    /// The protocol that the server supports: tus 1.0, the IETF draft, or otherwise a restart from the first byte.
    ///
    /// The server is probed if the content has at least 1 MiB. Content of another method than `PUT` is not sent by tus,
    /// whose server would not get the method and the media type: a `POST` is the same request at any size.
    public static let automatic = Resumption(way: .automatic)
    /// Restart from the first byte.
    public static let none = Resumption(way: .plain)

    /// This protocol; with a server that does not support tus the task fails, and one that does not support the draft
    /// takes the content as that of an ordinary request.
    public static func by(_ speaks: ResumableProtocol) -> Resumption { Resumption(way: .by(speaks)) }
}
