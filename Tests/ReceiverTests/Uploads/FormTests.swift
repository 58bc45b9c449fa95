// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

@Suite("Forms")
struct FormTests {
    /// The events of a parser, with content joined.
    private func parse(_ bytes: [UInt8], pieces: Int) -> [String] {
        var parser = FormParser(boundary: Array("XX".utf8))
        var events: [String] = []
        var content: [UInt8] = []
        var start = 0
        do throws(UploadRefusal) {
            while start < bytes.count {
                let piece = Array(bytes[start..<min(bytes.count, start + min(pieces, bytes.count))])
                start += piece.count
                let result = piece.withUnsafeBytes { input in
                    Result { () throws(UploadRefusal) in
                        try parser.take(input) { (event) throws(UploadRefusal) in
                            switch event {
                            case .part(let name, let fileName, let type):
                                events.append("part \(name) \(fileName ?? "-") \(type ?? "-")")
                            case .content(let more): content += more
                            case .partEnd:
                                events.append("content \(String(decoding: content, as: UTF8.self))")
                                content = []
                            case .end: events.append("end")
                            }
                        }
                    }
                }
                try result.get()
            }
        } catch {
            events.append("error \(error.status)")
        }
        return events
    }

    @Test("are parsed the same whatever pieces they come in", arguments: [1, 2, 3, 5, 17, Int.max])
    func pieces(size: Int) {
        let form =
            "preamble\r\n--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--X\r\n\r-\r\n--XX  \r\n"
            + "content-disposition: form-data; name=\"f\"; filename=\"x y.txt\"\r\nContent-Type: text/plain\r\n\r\n\r\n--XX\r\n"
            + "Content-Disposition: form-data; name=e; filename=\"\"\r\n\r\n\r\n--XX--\r\nepilogue"
        #expect(
            self.parse(Array(form.utf8), pieces: size) == [
                "part a - -", "content 1\r\n--X\r\n\r-", "part f x y.txt text/plain", "content ", "part e  -",
                "content ",
                "end",
            ]
        )
        // Without a preamble, and without a line end at the end.
        let short = "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--XX--"
        #expect(self.parse(Array(short.utf8), pieces: size) == ["part a - -", "content x", "end"])
    }

    @Test("may have a part without content whose blank line is the delimiter's line end", arguments: [1, 2, 3, .max])
    func emptyPart(size: Int) {
        let field = "Content-Disposition: form-data; name=\"a\"\r\n"
        let form = "--XX\r\n\(field)\r\n--XX\r\n\(field)\r\n\r\n--X\r\n--XX--"
        #expect(
            self.parse(Array(form.utf8), pieces: size) == [
                "part a - -", "content ", "part a - -", "content \r\n--X", "end",
            ]
        )
    }

    @Test("have names in which browsers encode quotation marks and line ends, and nothing else")
    func names() {
        let encoding = FormEncoding(random: [UInt8](repeating: 1, count: 16))
        let names = ["a\"b", "a\r\nb", "100%", "%41%2522", "plain"]
        for name in names {
            let head = encoding.head(name, fileName: name + ".txt", type: nil, isFirst: true)
            let bytes = head + Array("x".utf8) + encoding.tail(isEmpty: false)
            let text = String(decoding: bytes, as: UTF8.self).replacing(encoding.boundary, with: "XX")
            #expect(self.parse(Array(text.utf8), pieces: .max).first == "part \(name) \(name).txt -")
        }
    }

    @Test("that are malformed are refused, and none makes it trap")
    func malformed() {
        #expect(self.parse(Array("--XX\r\n\r\n\r\nx\r\n--XX--".utf8), pieces: .max).last == "error 400")
        #expect(self.parse(Array("--XXy\r\nA: b\r\n\r\n".utf8), pieces: 1).last == "error 400")
        let long = "--XX\r\nA: " + String(repeating: "b", count: 9000)
        #expect(self.parse(Array(long.utf8), pieces: 100).last == "error 431")
        let seed = Array(
            "--XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\nabc\r\n--XX--\r\n".utf8
        )
        var generator = SeededGenerator(seed: 9)
        for _ in 0..<3000 {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                if Bool.random(using: &generator) {
                    bytes[place] = UInt8.random(in: 0...255, using: &generator)
                } else {
                    bytes.remove(at: place)
                }
            }
            #expect(self.parse(bytes, pieces: 1) == self.parse(bytes, pieces: .max))
        }
    }

    @Test("bring their files, all or none, under safe and free names")
    func upload() async throws {
        let bench = try await ReceiverBench { $0.records = try? RecordChoice() }
        try bench.directory.write([0], to: "x.txt")
        func part(_ head: String, _ content: String) -> String {
            "--b\r\nContent-Disposition: form-data; \(head)\r\n\r\n\(content)\r\n"
        }
        let form =
            part("name=\"note\"", "hi") + part("name=\"f\"; filename=\"../x.txt\"", "one")
            + part("name=\"f\"; filename=\"C:\\\\y.txt\"", "two")
        let type = [("Content-Type", "multipart/form-data; boundary=b")]
        let answer = try bench.request("POST", "/", type, body: Array((form + "--b--\r\n").utf8))
        #expect(answer.status == 201)
        let files = try JSON(parsing: answer.body)["files"]?.array
        #expect(files?.compactMap { $0["name"]?.string } == ["x.1.txt", "y.txt"])
        #expect(try bench.directory.read("x.txt") == [0])
        #expect(try bench.directory.read("x.1.txt") == Array("one".utf8))
        #expect(try bench.directory.read("y.txt") == Array("two".utf8))
        let record = try JSON(parsing: try bench.directory.read(".y.txt.martlet.json"))
        #expect(record["fields"]?["note"]?.string == "hi")
        #expect(record["sha256"]?.string == "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3")
        // A browser goes back to the page.
        let html = type + [("Accept", "text/html")]
        #expect(try bench.request("POST", "/", html, body: Array((form + "--b--\r\n").utf8)).status == 303)
        // Cut before its end: nothing lands.
        let before = bench.directory.entries()
        #expect(try bench.request("POST", "/", type, body: Array(form.utf8)).status == 400)
        #expect(bench.directory.entries() == before)
        #expect(await bench.eventually { bench.unfinished.isEmpty })
        #expect(try bench.request("POST", "/", [("Content-Type", "multipart/form-data")], body: [1]).status == 400)
        await bench.receiver.stop()
    }

    @Test("hold no descriptor for a file that has come")
    func descriptors() async throws {
        let bench = try await ReceiverBench()
        let parts = (0..<200)
            .map {
                "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"\($0)\"\r\n\r\nx\r\n"
            }
        let client = try bench.client()
        client.send(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                + "Content-Length: 1000000\r\n\r\n" + parts.joined()
        )
        #expect(await bench.eventually { bench.unfinished.count == 200 })
        #expect(bench.openUnfinished <= 1)
        client.reset()
        #expect(await bench.eventually { bench.unfinished.isEmpty })
        await bench.receiver.stop()
    }
}
