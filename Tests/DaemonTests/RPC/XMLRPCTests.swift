// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Testing
import TransferTesting

@testable import Daemon

@Suite("XML-RPC")
struct XMLRPCTests {
    private static func call(_ value: String) -> String {
        "<?xml version='1.0'?>\n<methodCall>\n<methodName>m</methodName>\n<params>\n<param>\n<value>\(value)</value>"
            + "\n</param>\n</params>\n</methodCall>\n"
    }

    /// The parameters of a message, or `nil` if it is refused.
    private static func parameters(_ text: String) -> [JSON]? {
        guard let call = try? RPCCall(xml: Array(text.utf8)), case .positional(let values) = call.parameters else {
            return nil
        }
        return values
    }

    @Test("a call has its name and its parameters, with or without white space and declarations")
    func calls() throws {
        let text = "<?xml version=\"1.0\" encoding='utf-8'?><methodCall><methodName> aria2.x </methodName></methodCall>"
        #expect(
            try RPCCall(xml: Array(text.utf8)) == RPCCall(id: .null, method: "aria2.x", parameters: .positional([]))
        )
        let two =
            "\u{FEFF}<methodCall xmlns:ex='http://x/'><!-- c --><methodName>m</methodName><params>"
            + "<param><value>a</value></param><param><value><i4>1</i4></value></param></params></methodCall> <!----> "
        #expect(Self.parameters(two) == ["a", 1])
        #expect(Self.parameters("<methodCall><methodName>m</methodName><params/></methodCall>") == [])
    }

    @Test(
        "values of every type become those of JSON",
        arguments: [
            ("text", "text"), ("", ""), (" a ", " a "), ("<string>a</string>", "a"), ("<string/>", ""),
            ("<string>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;</string>", "<>&\"'A😀"),
            ("<string><![CDATA[a<b&c;]]>d</string>", "a<b&c;d"), ("<string>a<!-- x -->b</string>", "ab"),
            ("<string>a\r\nb\rc&#13;</string>", "a\nb\nc\r"), ("\n<int>5</int>\n", 5), ("<i4> -7 </i4>", -7),
            ("<i8>9007199254740993</i8>", 9_007_199_254_740_993), ("<boolean>1</boolean>", true),
            ("<boolean>0</boolean>", false), ("<double>-1.5e3</double>", .number(-1500)), ("<nil/>", .null),
            ("<base64>\n aGk=\n</base64>", "aGk="),
            ("<dateTime.iso8601>19980717T14:08:55</dateTime.iso8601>", "19980717T14:08:55"),
            ("<array><data/></array>", []), ("<struct></struct>", [:]),
            ("<array><data><value>a</value><value><int>1</int></value></data></array>", ["a", 1]),
            (
                "<struct><member><name>a</name><value>1</value></member> <member><name>b</name><value><struct/></value></member></struct>",
                ["a": "1", "b": [:]]
            ),
        ] as [(String, JSON)]
    )
    func values(_ xml: String, _ value: JSON) { #expect(Self.parameters(Self.call(xml)) == [value]) }

    @Test(
        "an element other than a value is refused",
        arguments: [
            "<int></int>", "<int>+</int>", "<int>1.0</int>", "<int>0x1</int>", "<int>9223372036854775808</int>",
            "<boolean>2</boolean>", "<boolean>true</boolean>", "<double>nan</double>", "<double>1e999</double>",
            "<double>0x1p3</double>", "<double></double>", "<base64>!</base64>", "<nil>x</nil>", "<float>1</float>",
            "a<int>1</int>", "<int>1</int>a", "<int>1</int><int>2</int>", "<array></array>",
            "<array><value>a</value></array>", "<struct><member><value>a</value></member></struct>",
            "<struct><member><name>a</name></member></struct>", "<string><b>a</b></string>", "<value>a</value>",
            "&nbsp;", "&x;", "&#0;", "&#x1;", "&#xD800;", "&#xFFFE;", "&#x110000;", "&#-1;", "&#;", "&#x;", "&",
            "a & b",
            "&amp", "a]]>b", "a\u{1}b", "a\0b", "<![CDATA[a", "<!-- a -- b -->", "<!-- a", "<string>a</STRING>",
            "<string a>b</string>", "<string a=b>b</string>", "<string a='<'>b</string>", "<string a='b>c</string>",
            "<?php x ?>", "<!ELEMENT a>", "<1>a</1>", "< int>1</int>",
        ]
    )
    func noValues(_ xml: String) { #expect(Self.parameters(Self.call(xml)) == nil) }

    @Test(
        "documents other than calls, with defined entities or with another encoding are refused",
        arguments: [
            "", " ", "{}", "<methodCall>", "<methodCall/>", "<methodResponse/>",
            "<methodCall><methodName></methodName></methodCall>", "<methodCall><params/></methodCall>",
            "<methodCall><methodName>m</methodName></methodCall>x",
            "<methodCall><methodName>m</methodName></methodCall><methodCall/>",
            "<methodCall><methodName>m</methodName><params><value>a</value></params></methodCall>",
            "<methodCall><methodName>m</methodName><params></methodCall>",
            " <?xml version='1.0'?><methodCall><methodName>m</methodName></methodCall>",
            "<?xml version='1.0' encoding='ISO-8859-1'?><methodCall><methodName>m</methodName></methodCall>",
            "<?xml version='1.0' encoding='UTF-16'?><methodCall><methodName>m</methodName></methodCall>",
            "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><methodCall><methodName>&b;</methodName></methodCall>",
            "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><methodCall><methodName>m</methodName></methodCall>",
        ]
    )
    func noCalls(_ text: String) { #expect(Self.parameters(text) == nil) }

    @Test("nesting, names and invalid UTF-8 are bounded and refused")
    func bounds() {
        func nested(_ depth: Int) -> String {
            let open = String(repeating: "<array><data><value>", count: depth)
            return Self.call(open + String(repeating: "</value></data></array>", count: depth))
        }
        #expect(Self.parameters(nested(JSON.defaultDepth)) != nil)
        #expect(Self.parameters(nested(JSON.defaultDepth + 1)) == nil)
        #expect(Self.parameters(nested(100_000)) == nil)
        let name = String(repeating: "a", count: 100_000)
        #expect(Self.parameters("<\(name)></\(name)>") == nil)
        #expect(Self.parameters(Self.call("&\(name);")) == nil)
        for bytes in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82]] as [[UInt8]] {
            let parts = Self.call("MARK").split(separator: "MARK", maxSplits: 1)
            let message = Array(parts[0].utf8) + bytes + Array(parts[1].utf8)
            #expect(throws: SyntaxError.self) { try RPCCall(xml: message) }
        }
        let wide = Self.call("<array><data>\(String(repeating: "<value/>", count: 10_000))</data></array>")
        #expect(Self.parameters(wide)?.first?.array?.count == 10_000)
    }

    @Test("no beginning of a message and no changed byte of it traps; a beginning is never a call")
    func hostile() {
        let text = Self.call(
            "<struct><member><name>a&#65;</name><value><array><data><value><i4>1</i4></value><value>&lt;</value>"
                + "<value><![CDATA[x]]></value></data></array></value></member></struct><!-- c -->"
        )
        let whole = Array(text.utf8)
        #expect((try? RPCCall(xml: whole)) != nil)
        for length in 0..<(whole.count - 1) {
            #expect(throws: SyntaxError.self) { try RPCCall(xml: Array(whole[..<length])) }
        }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<5_000 {
            var message = whole
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let index = Int.random(in: 0..<message.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: message[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: message.remove(at: index)
                default: message.insert(Array("<>&;'\"]-!?/".utf8).randomElement() ?? 0x3C, at: index)
                }
            }
            _ = try? RPCCall(xml: message)
        }
    }

    @Test("results and faults are written, with characters that XML does not have replaced")
    func answers() {
        func text(_ result: Result<JSON, RPCFailure>) -> String {
            String(decoding: XMLRPCAnswer(result).bytes, as: UTF8.self)
        }
        let value: JSON = [
            "a<&>\"": "x\r\n\u{1}\u{FFFF}é😀", "b": [1, 4_294_967_296, true, false, .null, .number(0.5), []], "c": [:],
        ]
        #expect(
            text(.success(value))
                == "<?xml version=\"1.0\"?><methodResponse><params><param><value><struct><member><name>a&lt;&amp;&gt;\"</name>"
                + "<value><string>x&#13;\n\u{FFFD}\u{FFFD}é😀</string></value></member><member><name>b</name><value><array>"
                + "<data><value><int>1</int></value><value><i8>4294967296</i8></value><value><boolean>1</boolean></value>"
                + "<value><boolean>0</boolean></value><value><nil/></value><value><double>0.5</double></value>"
                + "<value><array><data></data></array></value></data></array></value></member><member><name>c</name>"
                + "<value><struct></struct></value></member></struct></value></param></params></methodResponse>"
        )
        #expect(
            text(.failure(.unauthorized))
                == "<?xml version=\"1.0\"?><methodResponse><fault><value><struct><member><name>faultCode</name><value>"
                + "<int>1</int></value></member><member><name>faultString</name><value><string>Unauthorized</string>"
                + "</value></member></struct></value></fault></methodResponse>"
        )
    }

    @Test("over HTTP the calls are those of JSON-RPC, with the token first, and multicalls have faults")
    func http() async throws {
        func call(_ method: String, _ parameters: String) -> String {
            "<?xml version='1.0'?><methodCall><methodName>\(method)</methodName><params>\(parameters)</params></methodCall>"
        }
        func inner(_ method: String, _ parameters: String) -> String {
            "<value><struct><member><name>methodName</name><value>\(method)</value></member><member><name>params</name>"
                + "<value><array><data>\(parameters)</data></array></value></member></struct></value>"
        }
        let token = "<value><string>token:t0p-s3cret</string></value>"
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            func post(_ body: String) async throws -> RawReply {
                try await connection.request("POST", "/rpc", ["Content-Type: text/xml"], body: body)
            }
            let add = try await post(
                call(
                    "aria2.addUri",
                    "<param>\(token)</param><param><value><array><data><value>http://h/x?a=1&amp;b=2</value></data></array>"
                        + "</value></param><param><value><struct><member><name>gid</name><value>00000000000000ab</value>"
                        + "</member><member><name>split</name><value><int>3</int></value></member></struct></value></param>"
                )
            )
            #expect(add.status == 200)
            #expect(add.field("Content-Type") == "text/xml")
            #expect(add.body.contains("<value><string>00000000000000ab</string></value>"))
            let record = try #require(await harness.service.list(ListQuery()).first)
            #expect(record.urls == ["http://h/x?a=1&b=2"] && record.options[.split] == "3")
            let refused = try await post(call("aria2.getVersion", "<param><value>token:wrong</value></param>"))
            #expect(refused.status == 200)
            #expect(refused.body.contains("<fault>") && refused.body.contains("Unauthorized"))
            let several = try await post(
                call(
                    "system.multicall",
                    "<param><value><array><data>" + inner("aria2.tellActive", token) + inner("aria2.nope", token)
                        + inner("aria2.getVersion", "") + "</data></array></value></param>"
                )
            )
            #expect(
                several.body.contains(
                    "<data><value><array><data><value><array><data></data></array></value></data></array></value><value>"
                        + "<struct><member><name>faultCode</name><value><int>1</int></value></member>"
                )
            )
            #expect(several.body.contains("No such method: aria2.nope") && several.body.contains("Unauthorized"))
            let methods = try await post(call("system.listMethods", ""))
            #expect(methods.body.contains("<string>aria2.addUri</string>"))
            let broken = try await post("<methodCall>")
            #expect(broken.status == 400)
            #expect(broken.body.contains("<int>-32700</int>"))
            await connection.close()
        }
        try await ServerHarness.run {
            $0.limits.body = 100
        } _: { harness in
            let connection = try await harness.tcp()
            let reply = try await connection.request("POST", "/rpc", body: call(String(repeating: "a", count: 200), ""))
            #expect(reply.status == 413)
            #expect(reply.body.contains("<fault>"))
            await connection.close()
        }
    }
}
