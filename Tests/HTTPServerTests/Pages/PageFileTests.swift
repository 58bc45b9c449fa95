// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTPServer

@Suite("Files of pages")
struct PageFileTests {
    @Test("Scripts and style sheets are served without indentation and lines of comments, and nothing else is changed")
    func compact() {
        let script = """
            // SPDX-License-Identifier: Apache-2.0
            /** One line. */
            export const url = "http://h"; // kept

            /**
             * Several lines.
             */
            function f() {
            \treturn a /* kept */ / b;
            \t// left out
            \t\t* c;
            }
            """
        let compact = PageFile.compact(Array(script.utf8))
        #expect(
            String(decoding: compact, as: UTF8.self)
                == "export const url = \"http://h\"; // kept\nfunction f() {\nreturn a /* kept */ / b;\n* c;\n}\n"
        )
        #expect(PageFile.compact([]) == [])
        #expect(PageFile.compact(Array("/* without an end".utf8)) == [])
    }
}
