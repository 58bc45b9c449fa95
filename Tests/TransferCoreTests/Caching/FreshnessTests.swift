// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite struct FreshnessTests {
    private static let zero: Int64 = 1_800_000_000

    private func date(_ seconds: Int64) -> String { HTTPDate.format(Self.zero + seconds) }

    private func stored(_ fields: HeaderFields, status: Int = 200, sent: Int64 = 0, arrived: Int64 = 0)
        -> StoredResponse
    {
        StoredResponse(
            status: status,
            fields: fields,
            requestTime: Self.zero + sent,
            responseTime: Self.zero + arrived
        )
    }

    @Test func theLifetimeIsThatOfTheFirstRuleThatApplies() {
        let cases: [(HeaderFields, Int, Int64)] = [
            (["Cache-Control": "max-age=60"], 200, 60),
            (["Cache-Control": "max-age=60", "Expires": self.date(500), "Date": self.date(0)], 200, 60),
            (["Cache-Control": "s-maxage=60"], 200, 0),
            (["Expires": self.date(500), "Date": self.date(100)], 200, 400),
            (["Expires": self.date(500)], 200, 500),
            (["Expires": self.date(-500), "Date": self.date(0)], 200, 0),
            (["Expires": "0"], 200, 0), (["Expires": "never", "Last-Modified": self.date(-1000)], 200, 0),
            (["Expires": self.date(500), "expires": self.date(500)], 200, 0),
            (["Cache-Control": "max-age=x", "Last-Modified": self.date(-1000)], 200, 0),
            (["Cache-Control": "max-age=1, max-age=1"], 200, 0),
            (["Last-Modified": self.date(-1000), "Date": self.date(0)], 200, 100),
            (["Last-Modified": self.date(-1000)], 200, 100),
            (["Last-Modified": self.date(-900_000_000)], 200, 86_400),
            (["Last-Modified": self.date(1000)], 200, 0),
            (["Last-Modified": self.date(-1000)], 302, 0),
            (["Last-Modified": self.date(-1000), "Cache-Control": "public"], 302, 100),
            (["Last-Modified": self.date(-1000)], 404, 100),
            ([:], 200, 0),
        ]
        for (fields, status, lifetime) in cases {
            #expect(self.stored(fields, status: status).lifetime == lifetime, "\(Array(fields))")
        }
    }

    /// RFC 9111 §4.2.3.
    @Test func theAgeCountsTheWayAndTheStay() {
        let cases: [(HeaderFields, Int64, Int64, Int64, Int64?)] = [
            // fields, sent, arrived, now, age
            ([:], 0, 0, 10, 10),
            (["Date": self.date(0)], 0, 5, 5, 5),
            (["Date": self.date(-100)], 0, 5, 15, 115),
            (["Date": self.date(100)], 0, 5, 15, 15),
            (["Age": "30"], 0, 5, 5, 35),
            (["Age": "30", "Date": self.date(-100)], 0, 5, 5, 105),
            (["Age": "30, 90"], 0, 0, 0, 30),
            (["Age": "x"], 0, 0, 7, 7), (["Age": "-5"], 0, 0, 7, 7),
            (["Age": "99999999999999999999"], 0, 0, 1, (1 << 31) + 1),
            // The clock was set back while the request was under way, then after the response.
            ([:], 10, 5, 6, 1), ([:], 0, 5, 4, nil),
        ]
        for (fields, sent, arrived, now, age) in cases {
            let stored = self.stored(fields, sent: sent, arrived: arrived)
            #expect(stored.age(at: Self.zero + now) == age, "\(Array(fields)) \(now)")
        }
    }

    @Test func timesAtTheEndsOfTheirRangeDoNotTrap() {
        for time in [Int64.min, -1, 0, Int64.max] {
            for now in [Int64.min, -1, 0, Int64.max] {
                for fields in [["Date": self.date(0)], ["Age": "5"], ["Expires": self.date(5)]] as [HeaderFields] {
                    let stored = StoredResponse(status: 200, fields: fields, requestTime: now, responseTime: time)
                    _ = stored.isUsable(for: ["Cache-Control": "max-stale=5, min-fresh=1"], at: now)
                    _ = stored.isUsableAfterError(for: ["Cache-Control": "stale-if-error=1"], at: now)
                    _ = stored.lifetime
                }
            }
        }
    }

    @Test func aRequestDecidesWhatIsFreshEnough() {
        // The response's directives, the request's, the age, whether it is used.
        let cases: [(String, String, Int64, Bool)] = [
            ("max-age=60", "", 59, true), ("max-age=60", "", 60, false), ("max-age=0", "", 0, false),
            ("max-age=60", "no-cache", 0, false), ("max-age=60", "max-age=0", 1, false),
            ("max-age=60", "max-age=0", 0, true), ("max-age=60", "max-age=10", 10, true),
            ("max-age=60", "max-age=10", 11, false), ("max-age=60", "max-age=x", 0, false),
            ("max-age=60", "max-age", 0, false), ("max-age=60", "min-fresh=10", 50, true),
            ("max-age=60", "min-fresh=10", 51, false), ("max-age=60", "min-fresh=x", 0, false),
            ("max-age=60", "max-stale", 1000, true), ("max-age=60", "max-stale=10", 70, true),
            ("max-age=60", "max-stale=10", 71, false), ("max-age=60", "max-stale=x", 70, false),
            ("max-age=60", "max-stale, max-age=5", 7, false),
            ("max-age=60, must-revalidate", "max-stale", 61, false), ("max-age=60, must-revalidate", "", 59, true),
            ("max-age=60, proxy-revalidate", "max-stale", 61, true), ("no-cache, max-age=60", "", 0, false),
            ("no-cache, max-age=60", "max-stale", 0, false), ("no-cache=\"X\", max-age=60", "", 0, true),
            ("max-age=60, immutable", "max-age=0", 5, true), ("max-age=60, immutable", "max-age=0", 61, false),
            ("max-age=60, immutable", "no-cache", 5, false), ("max-age=60, immutable", "min-fresh=58", 5, false),
            ("max-age=60, unknown=\"a, no-cache\"", "unknown", 5, true),
        ]
        for (response, request, age, isUsable) in cases {
            let stored = self.stored(["Cache-Control": response])
            let fields: HeaderFields = request.isEmpty ? [:] : ["Cache-Control": request]
            #expect(
                stored.isUsable(for: fields, at: Self.zero + age) == isUsable,
                "\(response) | \(request) | \(age)"
            )
        }
        #expect(!self.stored(["Cache-Control": "max-age=60"]).isUsable(for: ["Pragma": "no-cache"], at: Self.zero))
        #expect(!self.stored(["Cache-Control": "max-age=60"]).isUsable(for: [:], at: Self.zero - 1))
    }

    @Test func aStaleResponseReplacesAnErrorOnlyIfItMay() {
        let cases: [(String, String, Int64, Bool)] = [
            ("max-age=60, stale-if-error=100", "", 160, true), ("max-age=60, stale-if-error=100", "", 161, false),
            ("max-age=60", "stale-if-error=100", 160, true), ("max-age=60", "", 61, false),
            ("max-age=60, stale-if-error=100, must-revalidate", "", 61, false),
            ("max-age=60, stale-if-error=100, no-cache", "", 61, false),
            ("max-age=60, stale-if-error=x", "", 61, false),
            ("max-age=60, stale-if-error=100", "no-cache", 61, false),
        ]
        for (response, request, age, isUsable) in cases {
            let stored = self.stored(["Cache-Control": response])
            #expect(
                stored.isUsableAfterError(for: ["Cache-Control": request], at: Self.zero + age) == isUsable,
                "\(response) | \(request) | \(age)"
            )
        }
    }

    // MARK: Validation

    @Test func theValidatorsOfTheStoredResponseAreSent() throws {
        let both = self.stored(["ETag": "W/\"a\"", "Last-Modified": self.date(-10)]).conditions
        #expect(try #require(both).map(\.0) == ["If-None-Match", "If-Modified-Since"])
        #expect(try #require(both).map(\.1) == ["W/\"a\"", self.date(-10)])
        #expect(self.stored(["Last-Modified": "yesterday"]).conditions == nil)
        #expect(self.stored([:]).conditions == nil)
    }

    @Test func aConfirmationUpdatesTheFieldsThatDoNotDescribeTheBytes() throws {
        let stored = self.stored([
            "ETag": "\"a\"", "Content-Type": "text/plain", "Cache-Control": "max-age=1", "Age": "40", "X-Kept": "1",
            "X-New": "old", "x-new": "old too", "Content-Encoding": "br",
        ])
        let fresh = try #require(
            stored.freshened(
                by: [
                    "ETag": "W/\"a\"", "Content-Type": "text/html", "Cache-Control": "max-age=2", "X-New": "new",
                    "X-NEW": "and newer", "Connection": "X-Hop", "X-Hop": "1", "Set-Cookie": "a=b",
                    "Content-Length": "0", "Content-Encoding": "gzip",
                ],
                requestTime: 7,
                responseTime: 8
            )
        )
        #expect(fresh.requestTime == 7 && fresh.responseTime == 8 && fresh.status == 200)
        #expect(fresh.fields["Content-Type"] == "text/plain" && fresh.fields["Content-Encoding"] == "br")
        #expect(fresh.fields.values("X-New") == ["new", "and newer"] && fresh.fields["X-Kept"] == "1")
        #expect(fresh.lifetime == 2 && fresh.fields.values("ETag") == ["\"a\""])
        for name in ["Age", "Set-Cookie", "X-Hop", "Connection", "Content-Length"] {
            #expect(!fresh.fields.contains(name), "\(name)")
        }
    }

    @Test func aConfirmationOfAnotherResponseIsNotUsed() {
        func freshens(_ stored: HeaderFields, _ fields: HeaderFields) -> Bool {
            self.stored(stored).freshened(by: fields, requestTime: 0, responseTime: 0) != nil
        }
        #expect(!freshens(["ETag": "\"a\""], ["ETag": "\"b\""]))
        #expect(!freshens(["Last-Modified": self.date(-9)], ["ETag": "\"b\""]))
        #expect(!freshens(["Last-Modified": self.date(-9)], ["Last-Modified": self.date(-8)]))
        #expect(freshens(["Last-Modified": self.date(-9)], ["Last-Modified": self.date(-9)]))
        #expect(freshens(["ETag": "\"a\"", "Last-Modified": self.date(-9)], [:]))
        #expect(freshens(["ETag": "\"a\""], ["ETag": "\"a\""]))
        // The one that both have must be equal, whatever else is stored.
        #expect(!freshens(["ETag": "\"a\"", "Last-Modified": self.date(-9)], ["Last-Modified": self.date(-8)]))
        #expect(freshens(["ETag": "\"a\""], ["Last-Modified": self.date(-8)]))
    }

    @Test func aConfirmationNeitherStrengthensNorVerifiesTheStoredBytes() throws {
        let stored = self.stored(["ETag": "W/\"a\"", "Content-Digest": "sha-256=:old:", "X-User": "me"])
        let fields: HeaderFields = [
            "ETag": "\"a\"", "Content-Digest": "sha-256=:empty:", "Content-MD5": "empty",
            "Repr-Digest": "sha-256=:new:",
            "Digest": "SHA-256=new", "Cache-Control": "no-cache=\"X-User\"",
        ]
        let fresh = try #require(stored.freshened(by: fields, requestTime: 7, responseTime: 8))
        #expect(fresh.fields.values("ETag") == ["W/\"a\""] && fresh.fields["Content-Digest"] == "sha-256=:old:")
        for name in ["Content-MD5", "Repr-Digest", "Digest", "X-User"] {
            #expect(!fresh.fields.contains(name), "\(name)")
        }
    }

    @Test func fieldsAreDecodedAsTheyWereEncoded() {
        var fields: HeaderFields = ["A": "b", "a": ""]
        let latin: [UInt8] = [0xE4, 0x20, 0xFF]
        Array("X-Raw".utf8)
            .withUnsafeBytes { name in
                latin.withUnsafeBytes { fields.append(name: name, value: $0) }
            }
        let stored = self.stored(fields)
        #expect(StoredResponse.fields(decoding: stored.encodedFields) == fields)
        #expect(StoredResponse.fields(decoding: Array("no colon\r\n\r\n".utf8)) == nil)
    }
}
