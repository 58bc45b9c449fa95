// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer

@Suite("Stored sign-outs")
struct SignOutsTests {
    private static let cookie = SignInCookie(secret: [1], purpose: "test")
    private static let now = 1_000_000.0

    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    private func signOuts(most: Int? = nil) -> SignOuts {
        SignOuts(self.directory.path("list"), most: most) { Self.now }
    }

    private func make(_ signOuts: SignOuts? = nil) throws -> SignInCookie.Content {
        let value = Self.cookie.value(now: Self.now, signOuts: signOuts)
        return try #require(Self.cookie.check(value, now: Self.now))
    }

    @Test("A sign-out is seen by all who use the file, and after a restart")
    func shared() throws {
        let (first, second) = (self.signOuts(), self.signOuts())
        try first.open()
        try second.open()
        var ended: [SignInCookie.Content] = []
        for number in 0..<20 {
            let cookie = try self.make()
            #expect(!first.contains(cookie) && !second.contains(cookie))
            try (number % 3 == 0 ? second : first).add([cookie])
            ended.append(cookie)
            for cookie in ended { #expect(first.contains(cookie) && second.contains(cookie)) }
        }
        let again = self.signOuts()
        try again.open()
        for cookie in ended { #expect(again.contains(cookie)) }
        #expect(!again.contains(try self.make()))
        #expect(TemporaryDirectory.permissions(of: self.directory.path("list")) == 0o600)
    }

    @Test("A file that is replaced is read again; one that is removed takes nothing back")
    func replaced() throws {
        let (first, second) = (self.signOuts(most: 4), self.signOuts(most: 4))
        var ended: [SignInCookie.Content] = []
        for _ in 0..<1000 {
            let cookie = try self.make(first)
            try first.add([cookie])
            ended.append(cookie)
        }
        // The file was made smaller on the way.
        #expect(try self.directory.read("list").count < 70_000)
        #expect(ended.allSatisfy { second.contains($0) })
        #expect(!second.contains(try self.make(second)))
        let other = try TemporaryDirectory()
        let third = SignOuts(other.path("list")) { Self.now }
        let cookie = try self.make(second)
        try third.add([cookie])
        #expect(rename(other.path("list"), self.directory.path("list")) == 0)
        #expect(second.contains(cookie))
        #expect(unlink(self.directory.path("list")) == 0)
        #expect(second.contains(cookie) && second.contains(ended[0]))
        try second.add([try self.make(second)])
        #expect(self.signOuts().contains(cookie))
    }

    @Test("A damaged file ends all cookies, and is rewritten")
    func damaged() throws {
        let first = self.signOuts()
        let (cookie, other) = (try self.make(), try self.make())
        try first.add([cookie])
        var bytes = try self.directory.read("list")
        bytes[30] ^= 1
        try self.directory.write(bytes, to: "list")
        let second = self.signOuts()
        try second.open()
        #expect(second.contains(cookie) && second.contains(other))
        let new = try self.make(second)
        #expect(!second.contains(new))
        // While it is used, too: the next cookie ends later than those that have ended.
        try self.directory.write(bytes, to: "list")
        let next = try self.make(second)
        #expect(second.contains(new) && !second.contains(next))
        // For all who use it.
        #expect(first.contains(other) && !first.contains(next))
        let third = self.signOuts()
        try third.open()
        #expect(third.contains(other) && !third.contains(next))
    }

    @Test("No cookie is valid while the file cannot be read; an unstored sign-out is kept and stored later")
    func unreadable() throws {
        #expect(mkdir(self.directory.path("list"), 0o700) == 0)
        let signOuts = self.signOuts()
        #expect(throws: StorageError.self) { try signOuts.open() }
        let (cookie, other) = (try self.make(), try self.make())
        #expect(signOuts.contains(cookie))
        #expect(throws: StorageError.self) { try signOuts.add([cookie]) }
        #expect(rmdir(self.directory.path("list")) == 0)
        #expect(signOuts.contains(cookie) && !signOuts.contains(other))
        try signOuts.add([other])
        #expect(self.signOuts().contains(cookie) && self.signOuts().contains(other))
    }

    @Test("A renewed cookie ends with the one it replaced")
    func renewed() throws {
        let signOuts = SignOuts(nil) { Self.now }
        let old = try self.make()
        let value = Self.cookie.value(renewing: old, now: Self.now + 1000, signOuts: signOuts)
        let new = try #require(Self.cookie.check(value, now: Self.now + 1000))
        #expect(new.id == old.id && new.expires == old.expires + 1000)
        try signOuts.add([new])
        #expect(signOuts.contains(old) && signOuts.contains(new))
        let fields: HeaderFields = ["Cookie": "\(Self.cookie.name)=\(value)"]
        #expect(Self.cookie.check(fields, now: Self.now, signOuts: signOuts) == nil)
        #expect(Self.cookie.check(fields, now: Self.now) != nil)
    }

    @Test("Many threads sign out and check at the same time")
    func threads() async throws {
        let lists = [self.signOuts(), self.signOuts()]
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    let list = lists[number % 2]
                    for _ in 0..<10 {
                        guard let cookie = try? self.make() else { continue }
                        #expect(!list.contains(cookie))
                        #expect(throws: Never.self) { try list.add([cookie]) }
                        for list in lists { #expect(list.contains(cookie)) }
                    }
                }
            }
        }
    }
}
