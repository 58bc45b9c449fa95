// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferTesting

@testable import Control

@Suite struct SecretFileTests {
    private let temporary: TemporaryDirectory
    private var path: String { self.temporary.path + "/rpc-secret" }

    init() throws { self.temporary = try TemporaryDirectory() }

    @Test func oneIsMadeAndStays() throws {
        let secret = try SecretFile.readOrMake(self.path)
        #expect(secret.utf8.count == 64 && secret.allSatisfy(\.isHexDigit))
        #expect(try SecretFile.readOrMake(self.path) == secret)
        #expect(try SecretFile.read(self.path) == secret)
        var status = stat()
        #expect(lstat(self.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(self.temporary.entries() == ["rpc-secret"])
        #expect(try SecretFile.readOrMake(self.path + "2") != secret)
    }

    @Test func theUsersOwnIsReadWithoutTheEndOfItsLine() throws {
        for (text, secret) in [("abc", "abc"), ("abc\n", "abc"), ("a-b:c/d\r\n", "a-b:c/d"), ("a b  c\n", "a b  c")] {
            try self.write(text)
            #expect(try SecretFile.readOrMake(self.path) == secret)
        }
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o620]) func oneThatOthersMayTouchIsRefused(mode: Int) throws {
        try self.write("abc")
        chmod(self.path, mode_t(mode))
        let error = #expect(throws: ControlError.self) { try SecretFile.readOrMake(self.path) }
        #expect(error?.code == .forbidden)
        #expect(error?.remedy.contains("chmod 600 '\(self.path)'") == true)
        #expect(error?.description.contains("abc") == false)
    }

    @Test(arguments: [
        "", "\n", " ", " a", "a ", "a \n", "a\tb", "a\nb", "\u{7F}", "é", String(repeating: "x", count: 1025),
    ])
    func whatIsNoTokenIsRefused(text: String) throws {
        try self.write(text)
        let error = #expect(throws: ControlError.self) { try SecretFile.read(self.path) }
        #expect(error?.code == .badParameter)
    }

    @Test func whatIsNoFileIsRefused() throws {
        #expect(throws: ControlError.self) { try SecretFile.read(self.path) }
        #expect(mkfifo(self.path, 0o600) == 0)
        #expect(throws: ControlError.self) { try SecretFile.read(self.path) }
        unlink(self.path)
        #expect(mkdir(self.path, 0o700) == 0)
        #expect(throws: ControlError.self) { try SecretFile.readOrMake(self.path) }
    }

    @Test func ofManyThatMakeItAtOnceAllGetTheSame() async throws {
        let path = self.path
        let secrets = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<16 { group.addTask { try SecretFile.readOrMake(path) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(secrets.count == 1)
    }

    @Test func aTokenIsReadFromADescriptorUntilItsEnd() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let text = Array("hush\n".utf8)
        try #require(Platform.write(ends[1], text, text.count) == text.count)
        close(ends[1])
        #expect(try SecretFile.read(ends[0]) == "hush")
        // It is closed: nothing can be read any more, and the error names the descriptor and not a file.
        let error = #expect(throws: ControlError.self) { try SecretFile.read(9_999) }
        #expect(error?.code == .badParameter && error?.message.contains("descriptor 9999: Bad file") == true)
        let empty = open("/dev/null", O_RDONLY)
        let refusal = #expect(throws: ControlError.self) { try SecretFile.read(empty) }
        #expect(refusal?.remedy == "pass such a line" && refusal?.message.contains("descriptor") == true)
    }

    private func write(_ text: String) throws {
        unlink(self.path)
        let raw = open(self.path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(raw) }
        let bytes = Array(text.utf8)
        try #require(Platform.write(raw, bytes, bytes.count) == bytes.count)
    }
}
