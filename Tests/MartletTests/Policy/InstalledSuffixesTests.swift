// SPDX-License-Identifier: Apache-2.0
import FileStorage
import InMemoryLogging
import Logging
import Testing

@testable import Martlet

@Suite("The system's public suffix list")
struct InstalledSuffixesTests {
    @Test("Without an installed list the built-in one is used, and one warning says so")
    func missing() throws {
        let handler = InMemoryLogHandler()
        let logger = Logger(label: "test") { _ in handler }
        let suffixes = InstalledSuffixes(path: "/nonexistent/public_suffix_list.dat")
        let cookies = CookieStorage(CookieStore(suffixes: { suffixes }, clock: { 0 }))
        let url = try HTTPURL("http://a.co.uk/")
        cookies.receive(["a=1; Domain=co.uk", "b=2"], from: url, logger: nil)
        #expect(handler.entries.isEmpty)
        for _ in 0..<2 { cookies.receive(["c=3"], from: url, logger: logger) }
        #expect(handler.entries.count == 1 && handler.entries.first?.level == .warning)
        #expect(cookies.store.field(for: url) == "b=2; c=3")
    }
}
