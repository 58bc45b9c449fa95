// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferCore
import TransferTesting

@testable import Daemon

/// Numbers within 4,096 of the ends of the integer types, in the parameters of every method and in every option.
@Suite("Calls with numbers at the ends of the integer types")
struct NumberRangeCallTests {
    private static let id = "0000000000000001"

    private static let named = """
        {"ids":["\(Self.id)"],"id":"\(Self.id)","entries":[{"urls":["http://h:1/2"],"paused":true,"options":{"split":"3"}}],\
        "position":4,"how":"POS_CUR","priority":5,"offset":6,"limit":7,"list":"8","states":["waiting"],\
        "options":{"max-download-limit":"10"},"host":"h","connections":11,"start":"12:13","end":"14:15","days":["mon"],\
        "identifier":"s","instance":"16","upTo":17,"acknowledged":18,"program":{"executable":"/p","arguments":["19"]},\
        "configuration":{"maximumConcurrent":20},"urls":["http://h/21"],"events":["x"],"progress":true,"details":true}
        """
    private static let listed = [
        #"["\#(Self.id)",1,2,3]"#, #"[1,2,["gid"]]"#, #"["\#(Self.id)",1,"POS_SET"]"#,
        #"["\#(Self.id)",1,["http://h/4"],["u"],5]"#,
        #"[["http://h:1/2"],{"split":"3","out":"n4","max-download-limit":"5K","pause":"true"},6]"#,
        #"["\#(Self.id)",{"max-download-limit":"7M","timeout":"8"}]"#, #"[{"max-concurrent-downloads":"9"}]"#,
    ]

    @Test("are responded to", arguments: RPCMethods.standard.all.map(\.name).filter { !$0.hasSuffix("hutdown") })
    func calls(method: String) async throws {
        let bench = RPCBench()
        for parameters in method.isOwnMethod ? [Self.named] : Self.listed {
            for text in EdgeNumbers.variants(of: parameters, by: EdgeNumbers.fewTexts) {
                let call = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(text)}"#
                #expect(await !bench.send(call).body.isEmpty)
            }
        }
    }

    @Test("are responded to as identifiers, and in XML")
    func envelopes() async throws {
        let bench = RPCBench()
        for text in EdgeNumbers.texts {
            #expect(await !bench.send(#"[{"jsonrpc":"2.0","id":\#(text),"method":"aria2.getVersion"}]"#).body.isEmpty)
            for type in ["int", "i4", "i8", "double", "boolean", "string", "dateTime.iso8601"] {
                let value = "<value><\(type)>\(text)</\(type)></value>"
                let xml =
                    "<methodCall><methodName>m&#\(text);</methodName><params><param>\(value)</param></params></methodCall>"
                _ = try? RPCCall(xml: Array(xml.utf8))
                _ = try? RPCCall(xml: Array(xml.replacing("&#\(text);", with: "").utf8))
            }
        }
    }

    @Test("are accepted or refused in options", arguments: OptionName.allCases)
    func options(name: OptionName) {
        for text in EdgeNumbers.texts {
            for suffix in ["", "K", "M", ".5"] {
                _ = try? CoreValueTests.plan([name.rawValue: [text + suffix]])
            }
        }
    }

    @Test("are clamped in stored schedules")
    func schedules() {
        for text in EdgeNumbers.variants(of: #"{"start":1,"end":2,"days":[3,4]}"#) {
            guard let json = try? JSON(parsing: text), let schedule = Schedule(stored: json) else { continue }
            for minute in [0, 1439] { _ = schedule.allows(minute: minute, weekday: 6) }
            _ = schedule.stored
        }
    }
}
