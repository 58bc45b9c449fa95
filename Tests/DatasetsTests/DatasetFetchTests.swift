// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@testable import Datasets

@Suite struct DatasetFetchTests {
    private func result(isUnexamined: Bool) throws -> DatasetResult {
        let fetch = DatasetFetch(DatasetRow(number: 0, url: "http://h/a"), storage: nil, filter: SampleFilter())
        let url = try HTTPURL("http://h/a")
        let request = RequestFacts(id: TransferID(0), method: "HEAD", url: url, source: url, refusals: 0)
        fetch.started(at: 1)
        fetch.received(ResponseHead(status: 200, fields: ["ETag": "\"2\""], framing: .none), to: request)
        var completion = TransferCompletion(path: "a.1", bytes: 5, received: 0, duration: .zero, skipped: true)
        completion.isUnexamined = isUnexamined
        return fetch.finished(completion, at: 2)
    }

    @Test("The file of an earlier run does not get the validators of a response about another name")
    func unexaminedFile() throws {
        let result = try self.result(isUnexamined: true)
        #expect(result.etag == nil && result.status == nil && result.finalURL == nil)
        #expect(result.attempts == 1 && result.bytes == 5)
    }

    @Test("A file that a response was compared with has its validators")
    func examinedFile() throws {
        let result = try self.result(isUnexamined: false)
        #expect(result.etag == "\"2\"" && result.status == 200 && result.finalURL == "http://h/a")
    }
}
