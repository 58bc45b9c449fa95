// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite struct CookieDateTests {
    @Test(
        "Dates are read in any order and between any delimiters (RFC 6265bis §5.1.1)",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("1994 6 november 8:49:37", 784_111_777),
            ("06-NOV-1994 8:49:37", 784_111_777), ("08:49:37 06 Nov 94", 784_111_777),
            ("Thu, 01-Jan-1970 00:00:00 GMT", 0), ("Mon, 10-Dec-2007 17:02:24 GMT", 1_197_306_144),
            ("Wed, 31 Dec 69 23:59:59", 3_155_759_999), ("1 Jan 70 0:0:0", 0), ("1 Jan 1601 00:00:00", -11_644_473_600),
            ("29 Feb 2000 12:00:00", 951_825_600), ("6th Nov 1994abc 08:49:37.5 PST", 784_111_777),
            ("Sat Nov 06 1994 08:49:37 GMT+0100 (CET)", 784_111_777), ("31 Dec 9999 23:59:59", 253_402_300_799),
        ] as [(String, Int64)]
    )
    func dates(_ text: String, _ seconds: Int64) { #expect(CookieDate.parse(text) == seconds) }

    @Test(
        "A date that is none, or of which a part is missing, is none",
        arguments: [
            "", "0", "Thu, 01 Jan 1970", "01 Jan 00:00:00", "Jan 1970 00:00:00", "01 1970 00:00:00",
            "31 Feb 2020 00:00:00", "29 Feb 2021 00:00:00", "29 Feb 1900 00:00:00", "00 Jan 2020 00:00:00",
            "32 Jan 2020 00:00:00", "1 Jan 1600 00:00:00", "1 Jan 2020 24:00:00", "1 Jan 2020 00:60:00",
            "1 Jan 2020 00:00:60", "1 Jan 2020 000:00:00", "1 Jan 20200 00:00:00", "1 Jan 2020 00:00",
            "1 Jan 2020 0x:00:00", "99999999999999999999 Jan 2020 00:00:00", "::: ::: :::", "1 Jäa 2020 00:00:00",
        ]
    )
    func malformedDates(_ text: String) { #expect(CookieDate.parse(text) == nil) }
}
