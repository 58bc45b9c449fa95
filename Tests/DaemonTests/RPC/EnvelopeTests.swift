// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import HTTPServer
import Synchronization
import Testing

@testable import Daemon

@Suite("Envelopes")
struct EnvelopeTests {
    static let version =
        #"{"id":ID,"jsonrpc":"2.0","result":{"version":"0.1.0","enabledFeatures":["Async DNS","Firefox3 Cookie","HTTPS","Message Digest","XML-RPC"]}}"#
    static let invalid = #"{"id":null,"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request."}}"#
    static let parse = #"{"id":null,"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error."}}"#

    struct Case: CustomTestStringConvertible, Sendable {
        var request: String
        var status: Int
        var body: String
        var testDescription: String { String(self.request.prefix(60)) }

        static func version(_ request: String, id: String) -> Case {
            Case(request: request, status: 200, body: EnvelopeTests.version.replacing("ID", with: id))
        }
    }

    @Test(
        "what is sent decides status and body, as aria2 does",
        arguments: [
            Case(request: "", status: 500, body: Self.parse),
            Case(request: "{broken", status: 500, body: Self.parse),
            Case(
                request: String(repeating: "[", count: 65) + String(repeating: "]", count: 65),
                status: 500,
                body: Self.parse
            ),
            Case(request: "1e999", status: 500, body: Self.parse),
            Case(request: "\"x\"", status: 400, body: Self.invalid),
            Case(request: "{}", status: 400, body: Self.invalid),
            Case(request: #"{"jsonrpc":"2.0","method":"aria2.getVersion"}"#, status: 400, body: Self.invalid),
            Case(
                request: #"{"id":1}"#,
                status: 400,
                body: #"{"id":1,"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request."}}"#
            ),
            Case(
                request: #"{"id":1,"method":5}"#,
                status: 400,
                body: #"{"id":1,"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request."}}"#
            ),
            Case(
                request: #"{"id":1,"method":"aria2.getVersion","params":{"a":1}}"#,
                status: 500,
                body: #"{"id":1,"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params."}}"#
            ),
            Case(
                request: #"{"id":1,"method":"aria2.getVersion","params":null}"#,
                status: 500,
                body: #"{"id":1,"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params."}}"#
            ),
            Case(
                request: #"{"id":1,"method":"aria2.nope"}"#,
                status: 400,
                body: #"{"id":1,"jsonrpc":"2.0","error":{"code":1,"message":"No such method: aria2.nope"}}"#
            ),
            .version(#"{"id":null,"method":"aria2.getVersion"}"#, id: "null"),
            .version(#"{"jsonrpc":2,"id":-1,"method":"aria2.getVersion","params":[]}"#, id: "-1"),
            .version(#"{"json-rpc":"2.0","id":0,"method":"aria2.getVersion","params":["token:x"]}"#, id: "0"),
            .version(#"{"id":"a\"b","method":"aria2.getVersion","params":[[],{}]}"#, id: #""a\"b""#),
            .version(#"{"id":{"a":[1.5,true]},"method":"aria2.getVersion"}"#, id: #"{"a":[1.5,true]}"#),
            .version(#"{"id":9007199254740993,"method":"aria2.getVersion"}"#, id: "9007199254740993"),
            .version(#"{"id":1e2,"method":"aria2.getVersion"}"#, id: "1e2"),
            .version(#"{"id":1.0,"method":"aria2.getVersion"}"#, id: "1.0"),
            .version(#"{"id":-0,"method":"aria2.getVersion"}"#, id: "-0"),
            .version(
                #"{"id":123456789012345678901234567890,"method":"aria2.getVersion"}"#,
                id: "123456789012345678901234567890"
            ),
            .version(#"{"id":0.10,"method":"aria2.getVersion"}"#, id: "0.10"),
            Case(request: "[]", status: 200, body: "[]"),
            Case(
                request: #"[{"id":1,"method":"aria2.nope"},5,{"id":"1","method":"system.listNotifications"}]"#,
                status: 200,
                body:
                    #"[{"id":1,"jsonrpc":"2.0","error":{"code":1,"message":"No such method: aria2.nope"}},\#(Self.invalid),"#
                    + #"{"id":"1","jsonrpc":"2.0","result":["aria2.onDownloadStart","aria2.onDownloadPause","aria2.onDownloadStop","aria2.onDownloadComplete","aria2.onDownloadError","aria2.onBtDownloadComplete"]}]"#
            ),
        ]
    )
    func envelopes(_ test: Case) async {
        let answer = await RPCBench().send(test.request)
        #expect(answer.status == test.status)
        #expect(answer.body == test.body)
    }

    @Test("a batch of more than ten thousand calls is refused as a whole")
    func batchLimit() async {
        let call = #"{"id":1,"method":"aria2.getVersion"}"#
        let many = "[" + Array(repeating: call, count: 10_001).joined(separator: ",") + "]"
        let answer = await RPCBench().send(many)
        #expect(answer.status == 400)
        #expect(answer.body.contains("A batch of 10001 calls is too large"))
    }

    @Test("a batch whose answer grows beyond its limit is answered with errors from there on")
    func answerLimit() async {
        var limits = ServerLimits()
        limits.answer = 1_000
        let bench = RPCBench(limits: limits)
        let call = #"{"id":1,"method":"system.listMethods"}"#
        let answer = await bench.send("[" + Array(repeating: call, count: 50).joined(separator: ",") + "]")
        #expect(answer.body.utf8.count < 10_000)
        #expect(answer.body.contains("The response to the batch is too large"))
        let inner = #"{"methodName":"system.listMethods"}"#
        let calls = Array(repeating: inner, count: 50).joined(separator: ",")
        let multicall = await bench.send(#"{"id":1,"method":"system.multicall","params":[[\#(calls)]]}"#)
        #expect(multicall.body.utf8.count < 10_000)
        #expect(multicall.body.contains("The response is too large"))
    }

    @Test("over TCP each call needs the token, which is always taken off")
    func tokens() async {
        let bench = RPCBench()
        let unauthorized = #"{"id":1,"jsonrpc":"2.0","error":{"code":1,"message":"Unauthorized"}}"#
        for params in [
            "", #","params":[]"#, #","params":["token:wrong"]"#, #","params":["token:"]"#, #","params":[5]"#,
        ] {
            let answer = await bench.send(#"{"id":1,"method":"aria2.getVersion"\#(params)}"#, from: RPCBench.stranger)
            #expect(answer.status == 400)
            #expect(answer.body == unauthorized)
        }
        // The existence of a method is not revealed either.
        #expect(await bench.send(#"{"id":1,"method":"aria2.nope"}"#, from: RPCBench.stranger).body == unauthorized)
        let right = await bench.call("aria2.tellWaiting", ["token:s3cret", 0, 10], from: RPCBench.stranger)
        #expect(right.result == [])
        #expect(await bench.call("aria2.tellWaiting", ["token:any", 0, 10], from: RPCBench.remote).result == [])
        #expect(await bench.call("system.listMethods", [], from: RPCBench.stranger).status == 200)
        let batch = await bench.send(
            #"[{"id":1,"method":"aria2.getVersion","params":["token:s3cret"]},{"id":1,"method":"aria2.getVersion"}]"#,
            from: RPCBench.stranger
        )
        #expect(batch.status == 200)
        #expect(batch.body.hasSuffix(",\(unauthorized)]"))
    }

    @Test("system.multicall gives a list with each result, or a bare error")
    func multicall() async throws {
        let bench = RPCBench()
        let calls: JSON = [
            ["methodName": "aria2.tellActive", "params": ["token:s3cret"]],
            ["methodName": "aria2.nope", "params": ["token:s3cret"]], ["methodName": "aria2.getVersion", "params": []],
            ["methodName": "system.multicall", "params": [[]]], ["params": []],
            ["methodName": "aria2.tellActive", "params": ["token:s3cret", "x"]], 5,
        ]
        let answer = await bench.call("system.multicall", [calls], from: RPCBench.stranger)
        #expect(answer.status == 200)
        #expect(
            answer.result == [
                [[]], ["code": 1, "message": "No such method: aria2.nope"], ["code": 1, "message": "Unauthorized"],
                ["code": 1, "message": "Recursive system.multicall forbidden."],
                ["code": 1, "message": "Missing methodName."],
                ["code": 1, "message": "The parameter at 0 has wrong type."],
                ["code": 1, "message": "system.multicall expected struct."],
            ]
        )
        #expect(await bench.call("system.multicall", []).message == "The parameter at 0 is required but missing.")
        #expect(await bench.call("system.multicall", ["token:x", [] as JSON]).result == [])
    }

    @Test("consecutive addUri calls of a multicall or a batch are added at once; an error belongs to one call")
    func additions() async throws {
        let bench = RPCBench()
        func add(_ gid: String, _ url: JSON = "http://h/x") -> JSON {
            ["methodName": "aria2.addUri", "params": ["token:s3cret", [url], ["gid": .string(gid), "pause": "true"]]]
        }
        let ids = (1...5).map { "000000000000000\($0)" }
        let calls: JSON = [
            add(ids[0]), add(ids[0]), ["methodName": "aria2.addUri", "params": [["http://h/x"]]], add(ids[1]),
            add(ids[2], "nope"), ["methodName": "aria2.addUri", "params": ["token:s3cret", 5]],
            ["methodName": "aria2.tellStatus", "params": ["token:s3cret", .string(ids[1]), ["gid"]]], add(ids[3]),
        ]
        let answer = await bench.call("system.multicall", [calls], from: RPCBench.stranger)
        let results = try #require(answer.result?.array)
        #expect(results.count == 8)
        #expect(results[0] == [.string(ids[0])])
        #expect(results[1]["code"] == 1)
        #expect(results[2] == ["code": 1, "message": "Unauthorized"])
        #expect(results[3] == [.string(ids[1])])
        #expect(results[4]["message"]?.string?.hasPrefix("No URI to download.") == true)
        #expect(results[5] == ["code": 1, "message": "The parameter at 0 has wrong type."])
        #expect(results[6] == [["gid": .string(ids[1])]])
        #expect(results[7] == [.string(ids[3])])
        #expect(bench.service.state.withLock { $0.additions } == [3, 1])
        let batch = await bench.send(
            #"[{"id":1,"method":"aria2.addUri","params":[["http://h/y"],{"gid":"0000000000000005"}]},"#
                + #"{"id":2,"method":"aria2.addUri","params":[["http://h/y"],{"gid":"0000000000000006"}]}]"#
        )
        #expect(
            batch.body == #"[{"id":1,"jsonrpc":"2.0","result":"0000000000000005"},"#
                + #"{"id":2,"jsonrpc":"2.0","result":"0000000000000006"}]"#
        )
        #expect(bench.service.state.withLock { $0.additions } == [3, 1, 2])
    }
}

@Suite("Calls in a query")
struct QueryTests {
    /// `["token:s3"]` in Base64.
    static let params = "WyJ0b2tlbjpzMyJd"

    @Test("method, id and params make a call; the id is a text")
    func call() {
        let query = RPCQuery(QueryItems(target: "/jsonrpc?method=aria2.getVersion&id=foo&params=\(Self.params)%0A"))
        let call = RPCCall(id: "foo", method: "aria2.getVersion", parameters: .positional(["token:s3"]))
        #expect(query.envelope == .single(RPCItem(id: "foo", call: .success(call))))
        #expect(query.callback == nil)
    }

    @Test("params alone are a batch")
    func batch() {
        let query = RPCQuery(QueryItems("params=W10%3D"))
        #expect(query.envelope == .batch([]))
    }

    @Test(
        "what is incomplete is refused",
        arguments: [
            "", "method=x", "id=1", "method=x&id=", "jsoncallback=alert(1)&method=x&id=1", "method=x&id=1&params=*",
        ]
    )
    func incomplete(_ text: String) {
        guard case .single(let item) = RPCQuery(QueryItems(text)).envelope, case .failure = item.call else {
            Issue.record("\(text) is taken")
            return
        }
    }

    @Test(
        "a callback is a name",
        arguments: [
            ("cb", true), ("jQuery1_2$.cb", true), ("", false), ("1a", false), ("a b", false), ("a(", false),
            ("a;b", false), (".a", false), ("é", false), (String(repeating: "a", count: 129), false),
        ]
    )
    func callbacks(_ name: String, _ isOne: Bool) { #expect(RPCQuery.isCallback(name) == isOne) }
}
