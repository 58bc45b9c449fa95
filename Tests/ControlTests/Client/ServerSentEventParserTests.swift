// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Testing

@testable import Control

@Suite struct ServerSentEventParserTests {
    private func events(_ pieces: [some Collection<UInt8>]) throws -> [ServerSentEvent] {
        var parser = ServerSentEventParser()
        var events: [ServerSentEvent] = []
        for piece in pieces { try parser.take(piece, into: &events) }
        return events
    }

    private func events(_ text: String) throws -> [ServerSentEvent] { try self.events([Array(text.utf8)]) }

    private let stream =
        "\u{FEFF}: comment\nid: 7\nevent: finished\ndata: {\"a\":\ndata:1}\n\ndata: \"ü\"\r\n\r\ndata\rdata: 2\r\r"

    @Test func fieldsMakeEventsWhateverEndsTheLines() throws {
        let events = try self.events(self.stream)
        #expect(events == [.init(id: "7", name: "finished", data: ["a": 1]), .init(data: "ü"), .init(data: 2)])
        #expect(events.map(\.number) == [7, nil, nil])
    }

    @Test func theyAreTheSameWhereverTheStreamIsSplit() throws {
        let bytes = Array(self.stream.utf8)
        let whole = try self.events(self.stream)
        for split in 0...bytes.count { #expect(try self.events([bytes[..<split], bytes[split...]]) == whole) }
        #expect(try self.events(bytes.map { [$0] }) == whole)
    }

    @Test func whatHasNoDataIsNoEvent() throws {
        #expect(try self.events(":\n\n\nevent: a\nid: 1\n\nretry: 5\n\nunknown: 3\n\n") == [])
        // The fields of an event without data do not apply to the next one.
        #expect(try self.events("event: a\nid: 1\n\ndata: 1\n\n") == [.init(data: 1)])
        #expect(try self.events("data: 1\n") == [])
        #expect(try self.events("id: a\u{0}b\ndata: 1\n\n") == [.init(data: 1)])
    }

    @Test func dataThatIsNoJSONIsAnErrorAfterWhatCameBefore() {
        var parser = ServerSentEventParser()
        var events: [ServerSentEvent] = []
        let error = #expect(throws: ControlError.self) {
            try parser.take("data: 1\n\ndata: x\n\n".utf8, into: &events)
        }
        #expect(error?.code == .protocolMismatch)
        #expect(events == [.init(data: 1)])
    }

    @Test func anEventWithoutEndIsAnErrorAndNotMemory() {
        var parser = ServerSentEventParser()
        var events: [ServerSentEvent] = []
        let piece = [UInt8](repeating: 0x78, count: 16 << 20)
        let error = #expect(throws: ControlError.self) {
            for _ in 0..<5 { try parser.take(piece, into: &events) }
        }
        #expect(error?.code == .tooMuch)
    }
}
