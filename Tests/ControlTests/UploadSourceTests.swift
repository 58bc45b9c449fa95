// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Testing

@Suite("What an upload sends")
struct UploadSourceTests {
    private static var full: UploadSource {
        var source = UploadSource([.bytes([0, 255]), .file("/a/ü"), .bytes([])])
        source.type = "multipart/form-data; boundary=x"
        source.collection = "http://h/files/"
        source.resumption = "ietf-6"
        source.checksum = "sha256"
        source.asksFirst = false
        source.record = Array("secret".utf8)
        return source
    }

    @Test("is read back as it was written")
    func coded() throws {
        for source in [Self.full, UploadSource([.file("/f")])] {
            #expect(UploadSource(json: try JSON(parsing: source.json.text)) == source)
        }
        #expect(UploadSource([.file("/f")]).json == ["file": "/f"])
        #expect(Self.full.files == ["/a/ü"] && Self.full.byteCount == 2 && Self.full.path == nil && Self.full.isForm)
    }

    @Test("is shown without bytes and without what an upload can be added to with")
    func shown() throws {
        let shown = Self.full.shown
        #expect(!shown.text.contains("bytes") && !shown.text.contains("record"))
        let read = try #require(UploadSource(json: shown))
        #expect(read.files == ["/a/ü"] && read.record == nil && read.resumption == "ietf-6")
        var record = TransferRecord(id: .random(), state: .waiting, urls: ["http://h/"], directory: "/", added: 1)
        record.upload = Self.full
        #expect(TransferRecord(json: record.json)?.upload?.files == ["/a/ü"])
    }

    @Test(
        "of another form is none",
        arguments: [
            "{}", #"{"file":1}"#, #"{"parts":[{}]}"#, #"{"parts":[{"bytes":"%"}]}"#, #"{"file":"/f","type":1}"#,
            #"{"file":"/f","record":"%"}"#, #"{"file":"/f","expect":"no"}"#, #"{"file":"/f","protocol":[]}"#,
        ]
    )
    func wrong(_ text: String) throws { #expect(UploadSource(json: try JSON(parsing: text)) == nil) }

    @Test("goes into an entry of martlet.add")
    func entry() {
        var entry = NewTransfer(urls: ["http://h/"])
        #expect(entry.json["upload"] == nil)
        entry.upload = Self.full
        #expect(entry.json["upload"] == Self.full.json)
    }
}
