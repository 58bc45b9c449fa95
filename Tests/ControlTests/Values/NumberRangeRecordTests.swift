// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import Control

@Suite("Records of the daemon with numbers at the ends of the integer types")
struct NumberRangeRecordTests {
    private static let record = """
        {"id":"0000000000000001","state":"waiting","urls":["u"],"dir":"/d","added":1,"key":2,"bytes":3,"total":4,"rate":5,\
        "connections":6,"priority":7,"position":8,"ended":9,"error":{"code":10,"message":"m","status":11},\
        "hold":{"host":"h","reason":"throttled","since":12,"nextTry":13},"upload":{"parts":[{"length":14}]},\
        "details":{"started":15,"attempts":[{"started":16,"url":"u","status":17,"bytes":18,"resumedFrom":19,"nextTry":20}],\
        "response":{"at":21,"status":22,"fields":[["a","b"]]},"log":[{"at":23,"text":"t"}]}}
        """

    @Test("are read, and their texts are formatted")
    func records() throws {
        for text in EdgeNumbers.variants(of: Self.record) {
            guard let json = try? JSON(parsing: text), let record = TransferRecord(json: json) else { continue }
            for now in [0, 1e18, -1e18] { _ = record.hold?.text(now: now, since: "12:00") }
            _ = record.failure?.kind
            _ = TransferRecord(json: record.json)
        }
    }

    @Test("identifiers, spooled calls and events are read or refused")
    func others() throws {
        for text in EdgeNumbers.texts {
            _ = GID(text)
            _ = ServerSentEvent(id: text, data: .null).number
            var parser = ServerSentEventParser()
            var events: [ServerSentEvent] = []
            try? parser.take(Array("id: \(text)\nretry: \(text)\ndata: \(text)\n\n".utf8), into: &events)
        }
        for line in [#"{"n":1,"key":"k","method":"m","params":{"a":2}}"#, #"{"answered":[3,4]}"#] {
            for text in EdgeNumbers.variants(of: line) {
                _ = (try? JSON(parsing: text)).flatMap { SpoolLine(json: $0) }
            }
        }
    }
}
