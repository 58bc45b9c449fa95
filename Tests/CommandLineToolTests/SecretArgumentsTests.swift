// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import CommandLineTool

@Suite("Secrets in the list of processes") struct SecretArgumentsTests {
    /// The arguments as other users see them.
    private func shown(_ arguments: String...) -> [String] {
        var words = arguments.map { Array($0.utf8) }
        for (index, bytes) in SecretArguments.ranges(in: arguments) {
            for position in bytes { words[index][position] = UInt8(ascii: "*") }
        }
        return words.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("User information of URLs is hidden, wherever a URL may be")
    func urls() {
        #expect(self.shown("get", "https://me:secret@h/a@b") == ["get", "https://*********@h/a@b"])
        #expect(self.shown("get", "http://token@h") == ["get", "http://*****@h"])
        #expect(self.shown("--proxy=http://u:p@h:1") == ["--proxy=http://***@h:1"])
        #expect(
            self.shown("--proxy", "u:p@h:1", "--mirror", "http://u@h/") == [
                "--proxy", "***@h:1", "--mirror", "http://*@h/",
            ]
        )
        #expect(self.shown("get", "u:p@h/f") == ["get", "***@h/f"])
    }

    @Test("The values of options with secrets are hidden, joined or not")
    func options() {
        #expect(self.shown("--user", "me:secret", "http://h/") == ["--user", "*********", "http://h/"])
        #expect(self.shown("--user=me:secret", "-u", "a:b", "-ua:b") == ["--user=*********", "-u", "***", "-u***"])
        #expect(self.shown("--cookie", "a=b", "--rpc-secret=x") == ["--cookie", "***", "--rpc-secret=*"])
        #expect(self.shown("--http-passwd=p", "--user") == ["--http-passwd=*", "--user"])
        // A secret that begins with a dash is one, too.
        #expect(self.shown("--user", "-x:y") == ["--user", "****"])
    }

    @Test("Header fields are hidden, except those that are known to be public")
    func fields() {
        #expect(self.shown("-H", "Authorization: Bearer t") == ["-H", "Authorization:*********"])
        #expect(self.shown("--header=X-Api-Key: k", "-HCookie: a") == ["--header=X-Api-Key:**", "-HCookie:**"])
        #expect(self.shown("-H", "Accept: text/html") == ["-H", "Accept: text/html"])
        #expect(self.shown("-H", "no colon") == ["-H", "no colon"])
    }

    @Test("Everything else stays")
    func others() {
        let words = ["get", "-o", "a@2x.png", "-d", "/home/me@work/x", "https://h/p?q=a@b", "-x", "4", "-", "--", ""]
        #expect(SecretArguments.ranges(in: words).isEmpty)
    }
}
