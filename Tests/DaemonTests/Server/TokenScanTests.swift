// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import Daemon

@Suite("The search for the token in a message")
struct TokenScanTests {
    private static func token(_ text: String, _ dialect: RPCDialect = .json, pieces: Int = 1) -> String? {
        var scan = TokenScan(dialect)
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let piece = bytes.prefix(pieces)
            bytes = bytes.dropFirst(pieces)
            if let token = Array(piece).withUnsafeBytes({ scan.next($0) }) { return token }
        }
        return nil
    }

    @Test(
        "finds the first text with a token, however it is escaped and wherever it is split",
        arguments: [
            (#"{"params":["token:abc"]}"#, "abc"), (#"{"id":"token","params":["token:abc",["token:no"]]}"#, "abc"),
            (#"[{"x":"\"token:no","params":["token:a\"b\\c\/d\u002B"]}]"#, #"a"b\c/d+"#), (#""token:""#, ""),
            (#"{"params":["token:abc"#, nil), (#"{"params":[" token:abc"]}"#, nil), (#"{"a":"token"}"#, nil),
            (#"["\\","token:abc"]"#, "abc"), (#"["token:\x","token:abc"]"#, nil), ("token:abc", nil),
        ]
    )
    func json(_ text: String, _ token: String?) {
        for pieces in [1, 2, 3, 7, 1000] { #expect(Self.token(text, pieces: pieces) == token) }
    }

    @Test(
        "finds the token between tags",
        arguments: [
            ("<?xml version=\"1.0\"?><methodCall><params><param><value><string>token:a&lt;b</string></value>", "a<b"),
            ("<value>token:&#65;bc</value>", "Abc"), ("<value>x token:no</value><value>token:yes</value>", "yes"),
            ("<value>token:abc", nil), ("<value>token:&nope;</value>", nil), ("<a token:abc>", nil),
        ]
    )
    func xml(_ text: String, _ token: String?) {
        for pieces in [1, 2, 3, 1000] { #expect(Self.token(text, .xml, pieces: pieces) == token) }
    }

    @Test("finds what the parser finds in the parameters of random calls", arguments: 0..<20 as Range<UInt64>)
    func walk(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            func text() -> String {
                String(
                    (0..<Int.random(in: 0...6, using: &random))
                        .map { _ in "\"\\/ato:k<é".randomElement(using: &random) ?? "x" }
                )
            }
            let token = text()
            let call: JSON = [
                "id": .string(text()), "method": .string(text()),
                "params": [.string("token:" + token), .string(text())],
            ]
            let bytes = String(decoding: call.bytes, as: UTF8.self)
            #expect(Self.token(bytes, pieces: Int.random(in: 1...20, using: &random)) == token, "\(bytes)")
        }
    }
}
