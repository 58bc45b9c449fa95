// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite struct CacheControlTests {
    @Test(
        arguments: [
            ("max-age=60", .value(60)), ("MAX-AGE=60", .value(60)), ("max-age=\"60\"", .value(60)),
            ("private, max-age=0", .value(0)), (" ,, max-age = 7 ,", .value(7)),
            ("max-age=99999999999999999999", .value(1 << 31)),
            ("max-age=-1", .invalid), ("max-age=1.5", .invalid), ("max-age=abc", .invalid), ("max-age=", .invalid),
            ("max-age=\"60", .invalid), ("max-age=60 60", .invalid), ("max-age=\"60\"x", .invalid),
            ("max-age=1, max-age=2", .invalid), ("max-age", .none), ("s-maxage=60", .absent), ("", .absent),
            ("foo=\"a, max-age=1\"", .absent), ("foo=\"a\\\", max-age=1\", max-age=2", .value(2)),
            ("@@@=5, max-age=3", .value(3)), ("x y, max-age=4", .value(4)),
        ] as [(String, CacheControl.Seconds)]
    )
    func secondsFollowTheGrammar(text: String, expected: CacheControl.Seconds) {
        #expect(CacheControl(["Cache-Control": text]).seconds("max-age") == expected)
    }

    @Test func severalLinesAreOneList() {
        let control = CacheControl(["Cache-Control": "no-store", "cache-control": "max-age=5, immutable"])
        #expect(control.has("no-store") && control.has("immutable") && control.seconds("max-age") == .value(5))
    }

    @Test func fieldNamesQualifyADirective() {
        let control = CacheControl(["Cache-Control": "no-cache=\"Set-Cookie, X-A\", private=\"X-B\""])
        #expect(control.fieldNames("no-cache") == ["Set-Cookie", "X-A"])
        #expect(!control.hasUnqualified("no-cache") && !control.hasUnqualified("private"))
        #expect(CacheControl(["Cache-Control": "no-cache=\"\""]).hasUnqualified("no-cache"))
        #expect(CacheControl(["Cache-Control": "no-cache=\"a\", no-cache"]).hasUnqualified("no-cache"))
    }

    @Test func pragmaCountsOnlyWithoutCacheControl() {
        #expect(CacheControl(["Pragma": "no-cache"]).has("no-cache"))
        #expect(!CacheControl(["Pragma": "no-cache", "Cache-Control": "max-age=1"]).has("no-cache"))
        #expect(!CacheControl(["Pragma": "x"]).has("no-cache"))
    }
}
