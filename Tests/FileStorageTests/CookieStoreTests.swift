// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import FileStorage

@Suite("The files of cookies") struct CookieStoreTests {
    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    private func store() throws -> CookieStore {
        let store = CookieStore(clock: { 100 })
        store.receive(["a=1", "b=2; Max-Age=50", "c=3; Max-Age=0"], from: try HTTPURL("http://h.example/"))
        return store
    }

    @Test("What one run writes, the next one reads, also the cookies of the session; only the owner may read it")
    func roundTrip() throws {
        let path = self.directory.path("jar")
        try self.store().save(to: path, includingSessionCookies: true)
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600)
        let other = CookieStore(clock: { 120 })
        #expect(other.isEmpty)
        #expect(try other.load(from: path) == [])
        let url = try HTTPURL("http://h.example/x")
        #expect(!other.isEmpty && other.field(for: url) == "a=1; b=2")
        #expect(try other.load(from: self.directory.path("missing")) == nil)
    }

    @Test("A link remains, and its target is replaced")
    func link() throws {
        try self.directory.write([1], to: "target")
        try self.directory.link("jar", to: self.directory.path("target"))
        try self.store().save(to: self.directory.path("jar"), includingSessionCookies: true)
        var status = stat()
        #expect(lstat(self.directory.path("jar"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(try self.directory.read("target").count > 10)
    }

    @Test("A device is written to, and is not replaced by a file")
    func device() throws {
        // A pipe stands for /dev/null, which a test that runs as root must not endanger.
        let path = self.directory.path("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        try self.store().save(to: path, includingSessionCookies: true)
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        var bytes = [UInt8](repeating: 0, count: 4096)
        #expect(read(reader, &bytes, bytes.count) > 10)
    }

    @Test("A directory and a missing directory are errors, and nothing is left")
    func errors() throws {
        #expect(mkdir(self.directory.path("d"), 0o700) == 0)
        for path in [self.directory.path("d"), self.directory.path("none/jar")] {
            #expect(throws: StorageError.self) {
                try self.store().save(to: path, includingSessionCookies: true)
            }
        }
        #expect(self.directory.entries() == ["d"])
    }

    @Test("Without an installed list of public suffixes the built-in one is used, and one warning says so")
    func suffixes() throws {
        let suffixes = InstalledSuffixes(path: "/nonexistent/public_suffix_list.dat")
        let store = CookieStore(suffixes: { suffixes }, clock: { 0 })
        let url = try HTTPURL("http://a.co.uk/")
        store.receive(["a=1; Domain=co.uk", "b=2"], from: url)
        #expect(store.field(for: url) == "b=2")
        #expect(store.suffixes.takeWarning() != nil && store.suffixes.takeWarning() == nil)
    }
}
