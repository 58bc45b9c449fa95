// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("Whether a file changed")
struct FileIdentityTests {
    private static let file = FileIdentity(size: 9, modified: 1, changed: 2, device: 3, inode: 4)

    @Test("shows in any of its attributes, also without change times")
    func attributes() {
        let others = [
            FileIdentity(size: 8, modified: 1, changed: 2, device: 3, inode: 4),
            FileIdentity(size: 9, modified: 0, changed: 2, device: 3, inode: 4),
            FileIdentity(size: 9, modified: 1, changed: 2, device: 2, inode: 4),
            FileIdentity(size: 9, modified: 1, changed: 2, device: 3, inode: 3),
        ]
        for other in others {
            var earlier = other
            earlier.changed = nil
            #expect(!other.matches(Self.file) && !Self.file.matches(other))
            #expect(!earlier.matches(Self.file) && !Self.file.matches(earlier))
        }
    }

    @Test("shows in the change time, if both have one")
    func changeTime() {
        var other = Self.file
        #expect(other.matches(Self.file))
        other.changed = 1
        #expect(!other.matches(Self.file) && !Self.file.matches(other))
        other.changed = nil
        #expect(other.matches(Self.file) && Self.file.matches(other) && other.matches(other))
    }

    @Test("of several shows in their number and order")
    func several() {
        var other = Self.file
        other.inode = 5
        #expect([Self.file, other].matches([Self.file, other]) && [FileIdentity]().matches([]))
        #expect(![Self.file, other].matches([other, Self.file]) && ![Self.file].matches([Self.file, Self.file]))
    }
}
