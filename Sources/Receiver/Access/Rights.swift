/// What a client may do.
public struct Rights: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Fetch files by their names.
    public static let read = Rights(rawValue: 1)
    /// Send files.
    public static let write = Rights(rawValue: 2)
    /// See what there is.
    public static let list = Rights(rawValue: 4)
    /// Everything.
    public static let all: Rights = [.read, .write, .list]

    /// Parses `read,write,list` or `all`; `nil` where another word stands there.
    public init?(parsing text: String) {
        var rights: Rights = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            switch word {
            case "read": rights.insert(.read)
            case "write": rights.insert(.write)
            case "list": rights.insert(.list)
            case "all": rights = .all
            default: return nil
            }
        }
        self = rights
    }
}
