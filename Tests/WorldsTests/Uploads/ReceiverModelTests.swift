// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@testable import Worlds

@Suite struct ReceiverModelTests {
    private func request(_ number: Int, _ method: String, _ path: String, _ fields: HeaderFields) throws
        -> ServerRequest
    {
        ServerRequest(
            number: number,
            process: 1,
            connection: 1,
            others: 0,
            method: method,
            url: try HTTPURL("http://up.example\(path)"),
            fields: fields
        )
    }

    private func status(_ decision: ReceiverModel.Decision) -> Int {
        if case .respond(let response) = decision { response.status } else { 0 }
    }

    @Test func anInterruptedTusUploadContinuesAtItsOffset() throws {
        var model = ReceiverModel()
        model.speaksTus = true
        let creation = try self.request(1, "POST", "/target", ["Tus-Resumable": "1.0.0", "Upload-Length": "4"])
        #expect(self.status(model.begin(creation, length: 0, hasContent: false, wallNow: 0)) == 201)
        func part(_ number: Int, from offset: Int) throws -> ServerRequest {
            try self.request(
                number,
                "PATCH",
                "/files/1",
                ["Upload-Offset": "\(offset)", "Content-Type": "application/offset+octet-stream"]
            )
        }
        #expect(self.status(model.begin(try part(2, from: 0), length: 4, hasContent: true, wallNow: 0)) == 0)
        #expect(model.take([1, 2], 2))
        model.interrupt(2)
        #expect(self.status(model.begin(try part(3, from: 0), length: 4, hasContent: true, wallNow: 0)) == 409)
        #expect(self.status(model.begin(try part(4, from: 2), length: 2, hasContent: true, wallNow: 0)) == 0)
        #expect(model.take([3, 4], 4) && model.completions.map(\.bytes) == [[1, 2, 3, 4]])
        #expect(model.complete(4).status == 204 && model.completions.count == 1)
        #expect(self.status(model.begin(try part(5, from: 4), length: 1, hasContent: true, wallNow: 0)) == 403)
    }

    @Test func aSingleRequestCountsOnlyAsAWhole() throws {
        var model = ReceiverModel()
        let put = try self.request(1, "PUT", "/target", [:])
        #expect(self.status(model.begin(put, length: 2, hasContent: true, wallNow: 0)) == 0)
        #expect(model.take([1], 1) && model.resources.isEmpty)
        model.interrupt(1)
        #expect(!model.take([2], 1) && model.complete(1).status == 409 && model.resources.isEmpty)
    }

    @Test func aLaterRequestTakesAnUploadOver() throws {
        var model = ReceiverModel()
        model.drafts = [6]
        let draft: HeaderFields = ["Upload-Draft-Interop-Version": "6", "Upload-Length": "3"]
        #expect(
            self.status(model.begin(try self.request(1, "PUT", "/t", draft), length: 3, hasContent: true, wallNow: 0))
                == 0
        )
        #expect(model.take([1], 1))
        let head = try self.request(2, "HEAD", "/resumption/1", ["Upload-Draft-Interop-Version": "6"])
        #expect(self.status(model.begin(head, length: 0, hasContent: false, wallNow: 0)) == 204)
        #expect(!model.take([2], 1) && model.complete(1).status == 409)
        #expect(model.resources["/resumption/1"]?.bytes == [1])
    }
}
