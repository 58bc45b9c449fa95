// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite struct StorageRuleTests {
    private func isStorable(
        _ status: Int,
        _ fields: HeaderFields = [:],
        method: String = "GET",
        request: HeaderFields = [:],
        framing: BodyFraming = .length(1)
    ) -> Bool {
        let head = ResponseHead(status: status, fields: fields, framing: framing)
        return StorageRule.isStorable(head, method: method, request: request)
    }

    @Test func onlyUnderstoodStatusesAreStored() {
        for status in [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501] {
            #expect(self.isStorable(status), "\(status)")
        }
        for status in [302, 303, 307] {
            #expect(!self.isStorable(status), "\(status)")
            #expect(self.isStorable(status, ["Cache-Control": "max-age=5"]), "\(status)")
            #expect(self.isStorable(status, ["Cache-Control": "private"]), "\(status)")
            #expect(self.isStorable(status, ["Expires": "0"]), "\(status)")
        }
        for status in [201, 202, 206, 304, 305, 400, 401, 403, 407, 409, 416, 429, 500, 502, 503, 504, 999] {
            #expect(!self.isStorable(status, ["Cache-Control": "max-age=5, public"]), "\(status)")
        }
    }

    @Test func directivesForbidOrAllowStoring() {
        #expect(!self.isStorable(200, ["Cache-Control": "no-store, max-age=5"]))
        #expect(self.isStorable(200, ["Cache-Control": "no-store, must-understand, max-age=5"]))
        #expect(!self.isStorable(599, ["Cache-Control": "no-store, must-understand, max-age=5"]))
        #expect(self.isStorable(200, ["Cache-Control": "private"]))
        #expect(self.isStorable(200, ["Cache-Control": "no-cache"]))
        #expect(self.isStorable(200, request: ["Authorization": "Basic YTpi"]))
        #expect(!self.isStorable(200, request: ["Cache-Control": "no-store"]))
        for method in ["HEAD", "POST", "PUT", "DELETE", "get"] { #expect(!self.isStorable(200, method: method)) }
        #expect(!self.isStorable(200, ["Vary": "*"]) && !self.isStorable(200, ["Vary": "Accept, *"]))
        #expect(self.isStorable(200, ["Vary": "Accept"]))
    }

    @Test func aBodyWithoutADeclaredEndIsNotStored() {
        #expect(!self.isStorable(200, framing: .untilClose))
        #expect(self.isStorable(200, framing: .chunked) && self.isStorable(204, framing: .none))
    }

    @Test func fieldsOfTheConnectionAndCookiesAreNotStored() {
        let fields: HeaderFields = [
            "Connection": "close, X-Hop", "X-Hop": "1", "Transfer-Encoding": "chunked", "Set-Cookie": "a=b",
            "Cache-Control": "no-cache=\"X-User\"", "X-User": "me", "Keep-Alive": "5", "Upgrade": "h2c",
            "Content-Type": "text/plain",
        ]
        #expect(StorageRule.storedFields(fields).map(\.name) == ["Cache-Control", "Content-Type"])
    }

    @Test func theLeastRecentlyUsedAreEvictedUntilThereIsRoom() {
        let entries = (0..<10).map { (id: $0, size: Int64(10), lastUse: Double(9 - $0)) }
        #expect(EvictionRule.victims(entries, limit: 100) == [])
        #expect(EvictionRule.victims(entries, limit: 99) == [9, 8])
        #expect(EvictionRule.victims(entries, limit: 50) == [9, 8, 7, 6, 5, 4])
        #expect(EvictionRule.victims(entries, limit: 0).count == 10)
    }

    @Test func enormousSizesAreSummedWithoutATrap() {
        let entries = [Int64.max, 5 << 60, 10, Int64.max].enumerated()
            .map { (id: $0.offset, size: $0.element, lastUse: Double($0.offset == 2 ? 9 : $0.offset)) }
        #expect(EvictionRule.victims(entries, limit: 100) == [0, 1, 3])
        #expect(EvictionRule.total(entries.map(\.size)) == Int64.max)
    }

    @Test func authorizationAndCookiesAlwaysSelect() {
        func selection(_ request: HeaderFields) -> [UInt8]? {
            VaryRule.selection(of: request, by: ["Cache-Control": "private"])
        }
        let all: [HeaderFields] = [[:], ["Cookie": "a=1"], ["Cookie": "a=2"], ["Cookie": ""], ["Authorization": "a=1"]]
        #expect(Set(all.map(selection)).count == all.count)
        #expect(selection(["Accept": "x", "Cookie": "a=1"]) == selection(["cookie": "a=1"]))
    }
}
