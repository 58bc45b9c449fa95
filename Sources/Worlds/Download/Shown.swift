// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// The validators of one response, and which version it was of.
///
/// The rule for "the same version" is written here once more, independently of `VersionJudge`: responses that satisfy
/// it with different bytes make the server a liar, and a mixed file is then its fault.
struct Shown: Hashable {
    var version: Int
    /// The URL of a mirror; empty if all responses are of one resource.
    var url: String
    var tag: String?
    /// Last-Modified in seconds since 1970.
    var modified: Int64?
    var isOld: Bool
    var total: Int64?

    static func isStrong(_ tag: String?) -> Bool {
        guard let tag, tag.utf8.count >= 2, tag.hasPrefix("\""), tag.hasSuffix("\"") else { return false }
        return true
    }

    static func opaque(_ tag: String?) -> String? {
        guard let tag else { return nil }
        let text = tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
        return self.isStrong(text) ? text : nil
    }

    /// Whether Last-Modified identifies a version for a client, whose clock may be wrong: only beside a Date.
    static func isStrongDate(_ modified: Int64?, _ date: Int64?) -> Bool {
        guard let modified, let date else { return false }
        return modified <= date - 1
    }

    /// Whether it does for the server, which knows the time.
    static func isStrongDate(_ modified: Int64?, _ date: Int64?, now: Int64) -> Bool {
        guard let modified, modified <= now + 1 else { return false }
        if let date { return modified <= date - 1 }
        return modified <= now - 60
    }

    func isOneVersion(with other: Shown) -> Bool {
        if let total, let theirs = other.total, total != theirs { return false }
        var datesAgree = self.modified != nil && self.modified == other.modified
        if self.url != other.url {
            // Mirrors: all three have to be equal.
            return Self.opaque(self.tag) != nil && self.tag == other.tag && datesAgree
        }
        if Self.isStrong(self.tag), self.tag == other.tag { return true }
        datesAgree = datesAgree && self.isOld && other.isOld
        let (mine, others) = (Self.opaque(self.tag), Self.opaque(other.tag))
        if mine != nil || others != nil { return mine == others && datesAgree }
        if let tag, let theirs = other.tag, tag != theirs { return false }
        return datesAgree
    }
}
