// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("The protocol of an upload")
struct UploadProtocolMachineTests {
    private func head(_ status: Int, _ fields: HeaderFields = [:]) -> ResponseHead {
        ResponseHead(status: status, fields: fields, framing: .none)
    }

    @Test("one request carries everything; PUT may be repeated, POST not (RFC 9110 §9.2.2)")
    func plain() throws {
        let url = try HTTPURL("http://host/f")
        for method in ["PUT", "POST"] {
            var machine = UploadProtocolMachine(.plain, method: method, length: 9)
            let step = machine.begin(nil)
            #expect(step.method == method && step.content == 0..<9 && step.isRepeatable == (method == "PUT"))
            #expect(machine.received(self.head(201), from: url) == .accept)
            #expect(machine.received(self.head(500), from: url) == .judge)
            #expect(machine.acknowledged == nil)
        }
    }

    @Test("asked, a tus server is spoken to by tus, any other one by the draft, which falls back to one request")
    func automatic() throws {
        let url = try HTTPURL("http://host/f")
        let tus: HeaderFields = ["Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0", "Tus-Extension": "creation"]
        let answers: [(ResponseHead, String)] = [
            (self.head(204, tus), "Tus-Resumable"), (self.head(200), "Upload-Draft-Interop-Version"),
            (self.head(405), "Upload-Draft-Interop-Version"), (self.head(403), "Upload-Draft-Interop-Version"),
            (self.head(204, ["Tus-Version": "0.2.2", "Tus-Extension": "creation"]), "Upload-Draft-Interop-Version"),
            (self.head(204, ["Tus-Version": "1.0.0"]), "Upload-Draft-Interop-Version"),
        ]
        for (answer, field) in answers {
            var machine = UploadProtocolMachine(.automatic, method: "PUT", length: 9)
            #expect(machine.begin(nil).method == "OPTIONS")
            guard case .ask(let step) = machine.received(answer, from: url) else { return #expect(Bool(false)) }
            #expect(step.fields.first?.name == field)
        }
    }

    @Test("without a length no protocol can resume")
    func unknownLength() {
        var machine = UploadProtocolMachine(.by(.tus), method: "PUT", length: nil)
        #expect(machine.begin(nil).method == "PUT")
    }

    @Test("a record is resumed; one of another length is not")
    func records() throws {
        let identity = FileIdentity(size: 9, modified: 1, changed: 1, device: 2, inode: 3)
        for speaks in ResumableProtocol.allCases {
            var record = UploadRecord(
                speaks: speaks,
                endpoint: "http://host/f",
                resource: "http://host/r/1",
                length: 9,
                files: [identity]
            )
            var machine = UploadProtocolMachine(.automatic, method: "PUT", length: 9)
            #expect(machine.begin(record).method == "HEAD")
            record.length = 8
            var other = UploadProtocolMachine(.automatic, method: "PUT", length: 9)
            #expect(other.begin(record).method == "OPTIONS")
        }
    }

    @Test("a record survives being written; a part of one does not pass for a whole")
    func encoding() {
        let record = UploadRecord(
            speaks: .ietf6,
            endpoint: "https://host/f?x=1",
            resource: "https://host/r/1",
            length: .max,
            files: [
                FileIdentity(size: 9, modified: -1, changed: -1, device: .max, inode: 3),
                FileIdentity(size: 9, modified: -1, changed: nil, device: .max, inode: 3),
                FileIdentity(size: 0, modified: 1_700_000_000_123_456_789, changed: .max, device: 0, inode: .max),
            ],
            expires: 1_900_000_000
        )
        let bytes = record.encoded
        #expect(UploadRecord(encoded: bytes) == record)
        for count in 0..<bytes.count { #expect(UploadRecord(encoded: Array(bytes[..<count])) == nil) }
        #expect(UploadRecord(encoded: Array("martlet-upload 2\nend\n".utf8)) == nil)
    }

    /// Written by a build before change times were stored.
    private static let earlier = """
        martlet-upload 1
        protocol tus
        endpoint http://host/f
        resource http://host/r/1
        length 12
        file 9 1700000000123456789 2049 131
        file 3 1700000000123456789 2049 132
        expires 1900000000
        end

        """

    @Test("a record of an earlier version, without change times, is read")
    func earlierVersion() throws {
        let record = try #require(UploadRecord(encoded: Array(Self.earlier.utf8)))
        #expect(record.speaks == .tus && record.length == 12 && record.expires == 1_900_000_000)
        #expect(record.files.map(\.size) == [9, 3] && record.files.map(\.inode) == [131, 132])
        #expect(record.files.allSatisfy { $0.changed == nil && $0.device == 2049 })
        #expect(record.encoded == Array(Self.earlier.utf8))
    }

    @Test("a record without its change times is one of an earlier version: it reads both")
    func laterVersion() throws {
        var record = try #require(UploadRecord(encoded: Array(Self.earlier.utf8)))
        for index in record.files.indices { record.files[index].changed = Int64(index) }
        let lines = String(decoding: record.encoded, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.filter { !$0.hasPrefix("changed ") }.joined(separator: "\n") == Self.earlier)
    }

    @Test("a change time without a file, or an invalid number, makes a record unreadable")
    func wrongChangeTimes() {
        let before = Self.earlier.replacing("length", with: "changed 1\nlength")
        let wrong = Self.earlier.replacing("expires", with: "changed x\nexpires")
        for text in [before, wrong] { #expect(UploadRecord(encoded: Array(text.utf8)) == nil) }
    }
}
