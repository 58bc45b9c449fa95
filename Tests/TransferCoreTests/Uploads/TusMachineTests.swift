// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite("tus")
struct TusMachineTests {
    private let endpoint: HTTPURL
    private let resource: HTTPURL

    init() throws {
        self.endpoint = try HTTPURL("http://host/files/")
        self.resource = try HTTPURL("http://host/files/17")
    }

    private func head(_ status: Int, _ fields: HeaderFields = [:]) -> ResponseHead {
        ResponseHead(status: status, fields: fields, framing: .none)
    }

    private func step(_ action: UploadAction, at location: SourceLocation = #_sourceLocation) throws -> UploadStep {
        switch action {
        case .ask(let step), .remember(_, let step), .forget(let step): step
        default: try #require(nil as UploadStep?, "\(action)", sourceLocation: location)
        }
    }

    @Test("an upload is made, remembered, then sent from its beginning (creation)")
    func creation() throws {
        var machine = TusMachine(length: 100, metadata: [("filename", "a b.bin"), ("empty", "")])
        let step = machine.begin()
        #expect(step.method == "POST" && step.place == .collection && step.content == 0..<0)
        #expect(step.fields.contains(.init(name: "Upload-Length", value: "100")))
        #expect(step.fields.contains(.init(name: "Upload-Metadata", value: "filename YSBiLmJpbg==,empty ")))
        let answer = machine.received(
            self.head(201, ["Location": "17", "Upload-Expires": "Wed, 25 Jun 2036 16:00:00 GMT"]),
            from: self.endpoint
        )
        guard case .remember(let place, let patch) = answer else { return #expect(Bool(false), "\(answer)") }
        #expect(place.url == self.resource && place.speaks == .tus && place.expires == 2_098_022_400)
        #expect(patch.method == "PATCH" && patch.place == .resource(self.resource) && patch.content == 0..<100)
        #expect(patch.fields.contains(.init(name: "Upload-Offset", value: "0")))
        #expect(machine.received(self.head(204, ["Upload-Offset": "100"]), from: self.resource) == .accept)
        #expect(machine.acknowledged == 100)
    }

    @Test("resuming starts at the server's offset, whatever was sent before (HEAD)", arguments: [0, 1, 99])
    func resuming(offset: Int64) throws {
        var machine = TusMachine(length: 100)
        #expect(machine.resume(self.resource).method == "HEAD")
        let fields: HeaderFields = ["Upload-Offset": "\(offset)", "Upload-Length": "100"]
        let step = try self.step(machine.received(self.head(200, fields), from: self.resource))
        #expect(step.content == offset..<100 && machine.acknowledged == offset)
    }

    @Test("an upload that is whole already is complete without another request")
    func complete() {
        var machine = TusMachine(length: 100)
        _ = machine.resume(self.resource)
        #expect(machine.received(self.head(200, ["Upload-Offset": "100"]), from: self.resource) == .complete)
    }

    @Test("a missing or different resource is forgotten and the upload restarts", arguments: [403, 404, 410, 200])
    func gone(status: Int) throws {
        var machine = TusMachine(length: 100)
        _ = machine.resume(self.resource)
        // A 200 here reports another length.
        let fields: HeaderFields = ["Upload-Offset": "3", "Upload-Length": "101"]
        guard case .forget(let step) = machine.received(self.head(status, fields), from: self.resource) else {
            return #expect(Bool(false))
        }
        #expect(step.method == "POST" && machine.acknowledged == 0)
    }

    @Test("a server that loses the upload again and again is given up")
    func losses() throws {
        var machine = TusMachine(length: 100)
        _ = machine.resume(self.resource)
        for _ in 0..<2 {
            guard case .forget = machine.received(self.head(404), from: self.resource) else {
                return #expect(Bool(false))
            }
            _ = machine.received(self.head(201, ["Location": "/x"]), from: self.endpoint)
        }
        guard case .fail(let fault) = machine.received(self.head(404), from: self.resource) else {
            return #expect(Bool(false))
        }
        #expect(fault.code == .busy)
    }

    @Test("where offset or digest disagree the server is asked (409, 460), within a budget", arguments: [409, 460])
    func disagreement(status: Int) throws {
        var machine = TusMachine(length: 100)
        _ = machine.resume(self.resource)
        _ = machine.received(self.head(200, ["Upload-Offset": "10"]), from: self.resource)
        for _ in 0..<8 {
            #expect(try self.step(machine.received(self.head(status), from: self.resource)).method == "HEAD")
            _ = machine.received(self.head(200, ["Upload-Offset": "10"]), from: self.resource)
        }
        guard case .fail = machine.received(self.head(status), from: self.resource) else {
            return #expect(Bool(false))
        }
    }

    @Test("a part that is refused (403) may be one too many: the server is asked once whether it has it all")
    func refusedPart() throws {
        for offset in [10, 100] {
            var machine = TusMachine(length: 100)
            _ = machine.resume(self.resource)
            _ = machine.received(self.head(200, ["Upload-Offset": "10"]), from: self.resource)
            #expect(try self.step(machine.received(self.head(403), from: self.resource)).method == "HEAD")
            let answer = machine.received(self.head(200, ["Upload-Offset": "\(offset)"]), from: self.resource)
            if offset == 100 {
                #expect(answer == .complete)
            } else {
                #expect(try self.step(answer).content == 10..<100)
                #expect(machine.received(self.head(403), from: self.resource) == .judge)
            }
        }
    }

    @Test("an offset that stands still, falls back or is beyond what was sent is asked for again")
    func oddOffsets() throws {
        for offset in ["10", "9", "101", "-1", "x"] {
            var machine = TusMachine(length: 100)
            _ = machine.resume(self.resource)
            _ = machine.received(self.head(200, ["Upload-Offset": "10"]), from: self.resource)
            let answer = machine.received(self.head(204, ["Upload-Offset": offset]), from: self.resource)
            #expect(try self.step(answer).method == "HEAD")
        }
    }

    @Test("checksums go with parts of at most 8 MiB, if the server supports the algorithm")
    func checksums() throws {
        for known in ["sha1, sha256", "sha1"] {
            var machine = TusMachine(length: 20 << 20, checksum: .sha256)
            #expect(machine.beginAsking().method == "OPTIONS")
            let fields: HeaderFields = [
                "Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0", "Tus-Extension": "creation, checksum",
                "Tus-Checksum-Algorithm": known,
            ]
            _ = machine.received(self.head(204, fields), from: self.endpoint)
            let step = try self.step(machine.received(self.head(201, ["Location": "17"]), from: self.endpoint))
            let isChecked = known.contains("sha256")
            #expect(step.checksum == (isChecked ? .sha256 : nil))
            #expect(step.content == 0..<(isChecked ? 8 << 20 : 20 << 20))
        }
    }

    @Test("what cannot be made says why: too large, another protocol, no place for it")
    func refusals() {
        let answers: [(Int, HeaderFields, UploadFault.Code)] = [
            (413, [:], .tooLarge), (412, [:], .notSpoken), (200, [:], .notSpoken),
            (201, [:], .notSpoken), (201, ["Location": "ftp://x"], .brokenProtocol),
        ]
        for (status, fields, code) in answers {
            var machine = TusMachine(length: 100)
            _ = machine.begin()
            guard case .fail(let fault) = machine.received(self.head(status, fields), from: self.endpoint) else {
                #expect(Bool(false), "\(status)")
                continue
            }
            #expect(fault.code == code)
        }
        var machine = TusMachine(length: 100)
        _ = machine.begin()
        #expect(machine.received(self.head(503), from: self.endpoint) == .judge)
    }

    @Test("an empty file is whole with its creation")
    func empty() {
        var machine = TusMachine(length: 0)
        _ = machine.begin()
        #expect(machine.received(self.head(201, ["Location": "17"]), from: self.endpoint) == .accept)
    }

    /// A server that keeps what it likes of what it is sent, and answers in every way there is.
    @Test("for any responses of a server, acknowledged bytes are never sent again, and the upload ends")
    func randomWalk() throws {
        for seed in 0..<400 {
            var random = SeededGenerator(seed: UInt64(seed))
            let length: Int64 = 1000
            var machine = TusMachine(length: length)
            var held: Int64 = 0
            var exists = false
            var step = machine.begin()
            var requests = 0
            walk: while true {
                requests += 1
                try #require(requests < 10_000)
                var head = self.head(500)
                switch step.method {
                case "POST":
                    exists = true
                    held = 0
                    head = self.head(201, ["Location": "17"])
                case "HEAD":
                    if Int.random(in: 0..<40, using: &random) == 0 { exists = false }
                    head = exists ? self.head(200, ["Upload-Offset": "\(held)"]) : self.head(404)
                default:
                    let content = try #require(step.content)
                    if content.lowerBound != held {
                        head = self.head(409)
                    } else {
                        held += Int64.random(in: 0...(content.upperBound - held), using: &random)
                        let isLie = Int.random(in: 0..<6, using: &random) == 0
                        head = isLie ? self.head(204) : self.head(204, ["Upload-Offset": "\(held)"])
                    }
                    // From where the server said it is, exactly.
                    #expect(content.lowerBound == machine.acknowledged)
                }
                switch machine.received(head, from: self.endpoint) {
                case .ask(let next), .remember(_, let next), .forget(let next): step = next
                case .accept, .complete:
                    #expect(held == length && machine.acknowledged == length)
                    break walk
                case .fail: break walk
                case .judge: try #require(Bool(false))
                }
            }
        }
    }
}
