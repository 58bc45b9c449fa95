// SPDX-License-Identifier: Apache-2.0
/// The rights of a client.
public struct Rights: OptionSet, Sendable, Hashable {
    /// The bit set.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Download files by name.
    public static let read = Rights(rawValue: 1)
    /// Upload files.
    public static let write = Rights(rawValue: 2)
    /// List directories.
    public static let list = Rights(rawValue: 4)
    /// All rights.
    public static let all: Rights = [.read, .write, .list]

    /// Parses `read,write,list` or `all`; `nil` if there is another word.
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
