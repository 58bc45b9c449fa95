// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Media types")
struct MediaTypeTests {
    @Test(
        "types in which browsers execute scripts are active",
        arguments: ["html", "htm", "xhtml", "svg", "xml", "rss", "atom"]
    )
    func active(ending: String) { #expect(MediaType.isActive(MediaType.of("a.\(ending)"))) }

    @Test("other types are not", arguments: ["txt", "md", "js", "json", "png", "pdf", "docx", "zip", "unknown"])
    func passive(ending: String) { #expect(!MediaType.isActive(MediaType.of("a.\(ending)"))) }
}
