// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Testing

@Suite struct JSONElementsTests {
    private func lines(_ text: String, _ most: Int = .max) -> String? {
        JSONElements(of: "result", in: Array(text.utf8)).map { String(decoding: $0.lines(most), as: UTF8.self) }
    }

    @Test func elementsAreFoundAsTheyWereWritten() {
        #expect(
            self.lines(#"{"jsonrpc":"2.0","id":{"a":[1,{}]},"result":[{"a":"]}\"\\"},{"b":[1,[2]]},3,null,"x"]}"#)
                == #"{"a":"]}\"\\"}"# + "\n" + #"{"b":[1,[2]]}"# + "\n3\nnull\n\"x\"\n"
        )
        #expect(self.lines(#" { "result" : [ 1 , 2 ] , "id" : 1 } "#) == "1\n2\n")
        #expect(self.lines(#"{"result":[]}"#) == "")
        #expect(self.lines(#"{"result":[1,2,3]}"#, 2) == "1\n2\n")
        #expect(self.lines(#"{"result":[1,2,3]}"#, 0) == "")
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"result":1}"#, #"{"other":[1]}"#, #"{"result":[1,2}"#, #"{"result":["a]}"#,
        #"{"result":["a\"#,
        #"{"result":[1"#, #"{"result":[,]}"#, #"{"result":[1,]}"#, #"{"result"}"#, #"{result:[1]}"#, "}", "\"",
    ])
    func anythingElseIsRefused(_ text: String) { #expect(self.lines(text) == nil) }

    @Test func everyPrefixOfAnAnswerIsRefused() throws {
        let text = Array(#"{"id":1,"result":[{"urls":["http://a/\"b"],"n":-1.5e3},true]}"#.utf8)
        for count in 0..<(text.count - 2) {
            #expect(JSONElements(of: "result", in: Array(text[..<count]))?.ranges == nil, "\(count)")
        }
        #expect(try #require(JSONElements(of: "result", in: text)).ranges.count == 2)
    }

    @Test(arguments: [0, 7, -7, 10, -10, 1_234_567_890, Int64.max, Int64.min])
    func integersAreWrittenInDecimal(_ value: Int64) { #expect(JSON.integer(value).text == "\(value)") }
}
