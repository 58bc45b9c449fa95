// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import CommandLineTool

@Suite struct DisplayTests {
    @Test(arguments: [
        ("abc", 3), ("", 0), ("日本語", 6), ("한글", 4), ("é", 1), ("e\u{301}", 1), ("a\u{200B}b", 2), ("👍", 2), ("👨‍👩‍👧‍👦", 2),
        ("🇩🇪", 2), ("❤\u{FE0F}", 2), ("❤", 1), ("ﾊﾝ", 2), ("Ａ", 2), ("ไทย", 3), ("👍🏽", 2),
        ("\u{1100}\u{1161}\u{11A8}", 2),
    ])
    func widthsAreThoseOfATerminal(text: String, columns: Int) {
        #expect(DisplayWidth.of(text) == columns)
    }

    @Test(arguments: [
        ("short.bin", 9, "short.bin"), ("averylongname.tar.gz", 11, "avery…ar.gz"), ("日本語日本語.zip", 9, "日本….zip"),
        ("abcdef", 1, "a"), ("abcdef", 0, ""), ("日本", 1, ""),
    ])
    func namesAreElidedInTheMiddle(text: String, columns: Int, elided: String) {
        let short = DisplayText.elided(text, to: columns)
        #expect(short == elided)
        #expect(DisplayWidth.of(short) <= columns)
        #expect(DisplayWidth.of(DisplayText.fitted(text, to: columns)) == columns)
    }

    @Test func controlCharactersNeverReachTheTerminal() {
        let hostile = "a\u{1B}]0;title\u{7}b\nc\u{202E}d\u{9B}2Je\u{2028}f\u{7F}"
        let cleaned = DisplayText.clean(hostile)
        for scalar in cleaned.unicodeScalars {
            #expect(scalar.value >= 0x20 && scalar.value != 0x7F && !(0x80..<0xA0).contains(scalar.value))
        }
        #expect(!cleaned.unicodeScalars.contains("\u{202E}") && !cleaned.unicodeScalars.contains("\u{2028}"))
        #expect(DisplayText.clean("naïve 日本 👨‍👩‍👧") == "naïve 日本 👨‍👩‍👧")
        #expect(DisplayText.clean("naïve", asciiOnly: true) == "na?ve")
    }

    @Test func quantitiesHaveThreeDigits() {
        #expect(Quantity.bytes(0) == "0 B")
        #expect(Quantity.bytes(999) == "999 B")
        #expect(Quantity.bytes(1000) == "0.98 KiB")
        #expect(Quantity.bytes(1536) == "1.50 KiB")
        #expect(Quantity.bytes(23 << 20) == "23.0 MiB")
        #expect(Quantity.bytes(.max) == "8.00 EiB")
        #expect(Quantity.bytes(512 << 10, of: 2 << 20) == "0.50/2.00 MiB")
        #expect(Quantity.rate(.nan) == "0 B/s")
        #expect(Quantity.rate(.infinity) == "0 B/s")
        #expect(Quantity.time(7) == "0:07")
        #expect(Quantity.time(725) == "12:05")
        #expect(Quantity.time(3 * 3600 + 121) == "3:02:01")
        #expect(Quantity.time(99 * 3600) == "4d 03h")
        #expect(Quantity.time(nil) == "--:--" && Quantity.time(1e300) == "--:--" && Quantity.time(-1) == "--:--")
        #expect(Quantity.elapsed(.milliseconds(420)) == "0.42 s")
        #expect(Quantity.percent(999, of: 1000) == 99)
        #expect(Quantity.percent(5, of: 0) == nil)
        #expect(Quantity.percent(.max, of: 1) == 100)
    }

    @Test func theRegionIsRedrawnInPlaceAndWrappedRowsAreCounted() {
        var region = LiveRegion()
        #expect(region.draw(above: [], frame: [], columns: 80) == "")
        #expect(region.draw(above: [], frame: ["aaaa", "bb"], columns: 80) == "\raaaa\u{1B}[K\nbb\u{1B}[K\u{1B}[J")
        #expect(region.draw(above: ["done"], frame: ["c"], columns: 80) == "\r\u{1B}[1Adone\u{1B}[K\nc\u{1B}[K\u{1B}[J")
        _ = region.draw(above: [], frame: [String(repeating: "x", count: 79), "y"], columns: 80)
        #expect(region.draw(above: [], frame: [], columns: 40).hasPrefix("\r\u{1B}[2A"))
    }
}
