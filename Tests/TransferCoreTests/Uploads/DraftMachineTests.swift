// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("The IETF's resumable uploads")
struct DraftMachineTests {
    private let endpoint: HTTPURL
    private let resource: HTTPURL

    init() throws {
        self.endpoint = try HTTPURL("http://host/in/file")
        self.resource = try HTTPURL("http://host/r/1")
    }

    private func head(_ status: Int, _ fields: HeaderFields = [:]) -> ResponseHead {
        ResponseHead(status: status, fields: fields, framing: .none)
    }

    @Test("each interop version has its own fields")
    func fields() {
        let wanted: [ResumableProtocol: (UploadStep.Field, Bool)] = [
            .ietf3: (.init(name: "Upload-Incomplete", value: "?0"), false),
            .ietf5: (.init(name: "Upload-Complete", value: "?1"), false),
            .ietf6: (.init(name: "Upload-Complete", value: "?1"), true),
        ]
        for (version, (field, hasType)) in wanted {
            var machine = DraftMachine(version, method: "POST", length: 9)
            let step = machine.begin()
            #expect(step.method == "POST" && step.content == 0..<9 && step.describesContent)
            #expect(step.fields.contains(field))
            #expect(
                step.fields.contains(
                    .init(name: "Upload-Draft-Interop-Version", value: "\(version.interopVersion ?? 0)")
                )
            )
            _ = machine.resume(self.resource)
            let answer = machine.received(self.head(204, ["Upload-Offset": "4"]), from: self.resource)
            guard case .ask(let patch) = answer else { return #expect(Bool(false)) }
            #expect(patch.method == "PATCH" && patch.content == 4..<9 && patch.fields.contains(field))
            #expect(
                patch.fields.contains(.init(name: "Content-Type", value: "application/partial-upload")) == hasType
            )
        }
    }

    @Test("a server that does not speak it has just been sent everything")
    func plain() {
        var machine = DraftMachine(.ietf6, method: "PUT", length: 9)
        #expect(machine.begin().isRepeatable)
        #expect(machine.received(self.head(201), from: self.endpoint) == .accept)
        var other = DraftMachine(.ietf6, method: "POST", length: 9)
        #expect(!other.begin().isRepeatable)
        #expect(other.received(self.head(403), from: self.endpoint) == .judge)
    }

    @Test("a 104 reports the resource, once")
    func interim() {
        var machine = DraftMachine(.ietf6, method: "POST", length: 9)
        _ = machine.begin()
        #expect(machine.received(interim: 103, ["Location": "/r/1"], from: self.endpoint) == nil)
        #expect(machine.received(interim: 104, [:], from: self.endpoint) == nil)
        #expect(machine.received(interim: 104, ["Location": "/r/1"], from: self.endpoint)?.url == self.resource)
        #expect(machine.received(interim: 104, ["Location": "/r/2"], from: self.endpoint) == nil)
        #expect(machine.resource == self.resource)
    }

    @Test("a server that wants more is given the rest")
    func incomplete() {
        var machine = DraftMachine(.ietf6, method: "POST", length: 9)
        _ = machine.begin()
        let fields: HeaderFields = ["Location": "/r/1", "Upload-Complete": "?0", "Upload-Offset": "5"]
        guard case .remember(let place, let step) = machine.received(self.head(201, fields), from: self.endpoint)
        else { return #expect(Bool(false)) }
        #expect(place.url == self.resource && step.content == 5..<9)
        #expect(machine.received(self.head(200, ["Upload-Complete": "?1"]), from: self.resource) == .accept)
        #expect(machine.acknowledged == 9)
    }

    @Test(
        "a complete upload needs no request; a missing one restarts; a different offset is requested"
    )
    func answers() {
        var machine = DraftMachine(.ietf5, method: "POST", length: 9)
        _ = machine.resume(self.resource)
        let whole: HeaderFields = ["Upload-Complete": "?1", "Upload-Offset": "9"]
        #expect(machine.received(self.head(204, whole), from: self.resource) == .complete)

        var gone = DraftMachine(.ietf5, method: "POST", length: 9)
        _ = gone.resume(self.resource)
        guard case .forget(let step) = gone.received(self.head(404), from: self.resource) else {
            return #expect(Bool(false))
        }
        #expect(step.method == "POST" && step.place == .endpoint)

        var other = DraftMachine(.ietf5, method: "POST", length: 9)
        _ = other.resume(self.resource)
        _ = other.received(self.head(204, ["Upload-Offset": "4"]), from: self.resource)
        guard case .ask(let head) = other.received(self.head(409), from: self.resource) else {
            return #expect(Bool(false))
        }
        #expect(head.method == "HEAD")
    }

    @Test("a file whose last byte is there, but that the server does not call complete, is completed by an empty part")
    func emptyRest() {
        var machine = DraftMachine(.ietf6, method: "POST", length: 9)
        _ = machine.resume(self.resource)
        guard case .ask(let step) = machine.received(self.head(204, ["Upload-Offset": "9"]), from: self.resource)
        else { return #expect(Bool(false)) }
        #expect(step.content == 9..<9 && step.method == "PATCH")
    }

    @Test("a success of a part does not count as the success of the upload, however it is reported")
    func partialSuccess() {
        let answers: [(HeaderFields, Bool)] = [
            (["Upload-Offset": "5"], true), (["Upload-Complete": "?0;a=b", "Upload-Offset": "5"], true),
            (["Upload-Incomplete": "?1", "Upload-Offset": "5"], true), (["Upload-Offset": "9"], false),
            (["Upload-Complete": "?1;a"], false), ([:], false),
        ]
        for (fields, wantsMore) in answers {
            var machine = DraftMachine(.ietf6, method: "POST", length: 9)
            _ = machine.resume(self.resource)
            _ = machine.received(self.head(204, ["Upload-Offset": "0", "Upload-Complete": "?0"]), from: self.resource)
            let action = machine.received(self.head(204, fields), from: self.resource)
            guard wantsMore else {
                #expect(action == .accept, "\(fields)")
                continue
            }
            guard case .ask(let step) = action else {
                Issue.record("\(fields): \(action)")
                continue
            }
            #expect(step.content == 5..<9)
        }
    }

    @Test("an upload that is whole with another length is another one")
    func foreignCompletion() {
        for fields in [["Upload-Offset": "5"], ["Upload-Length": "5"], ["Upload-Offset": "5", "Upload-Length": "5"]]
            as [HeaderFields]
        {
            var machine = DraftMachine(.ietf6, method: "PUT", length: 9)
            _ = machine.resume(self.resource)
            var fields = fields
            fields.append("Upload-Complete", "?1")
            guard case .forget = machine.received(self.head(204, fields), from: self.resource) else {
                Issue.record("\(fields)")
                continue
            }
        }
    }
}
