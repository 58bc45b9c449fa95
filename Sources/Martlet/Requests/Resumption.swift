internal import TransferEngine

/// How an upload goes on after a break.
public struct Resumption: Sendable, Hashable {
    let way: UploadWay

    init(way: UploadWay) { self.way = way }

    /// By the name that the daemon has for it; `nil` where it is none.
    init?(name: String) {
        switch name {
        case "auto": self.way = .automatic
        case "none": self.way = .plain
        default:
            guard let speaks = ResumableProtocol(rawValue: name) else { return nil }
            self.way = .by(speaks)
        }
    }

    /// What the daemon calls it.
    var name: String {
        switch self.way {
        case .automatic: "auto"
        case .plain: "none"
        case .by(let speaks): speaks.rawValue
        }
    }

    /// As the server can, which it is asked where the content has at least 1 MiB: by tus 1.0, by the IETF's draft, otherwise
    /// from its beginning.
    public static let automatic = Resumption(way: .automatic)
    /// From its beginning.
    public static let none = Resumption(way: .plain)

    /// By this protocol; a server that does not speak tus fails the task, one that does not speak the draft takes the
    /// content as an ordinary request's.
    public static func by(_ speaks: ResumableProtocol) -> Resumption { Resumption(way: .by(speaks)) }
}
