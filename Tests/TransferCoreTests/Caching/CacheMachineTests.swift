// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite struct CacheMachineTests {
    private static let now: Int64 = 1_800_000_000

    private func machine(
        _ method: String = "GET",
        _ fields: HeaderFields = [:],
        _ policy: CachePolicy = .useProtocolCachePolicy,
        hasContent: Bool = false
    ) -> CacheMachine {
        CacheMachine(method: method, fields: fields, hasContent: hasContent, policy: policy)
    }

    private func stored(_ fields: HeaderFields, age: Int64 = 0, status: Int = 200) -> (StoredResponse, Int64) {
        let time = Self.now - age
        return (StoredResponse(status: status, fields: fields, requestTime: time, responseTime: time), 5)
    }

    private func head(_ status: Int, _ fields: HeaderFields = [:]) -> ResponseHead {
        ResponseHead(status: status, fields: fields, framing: status == 304 ? .none : .length(5))
    }

    /// An action as text.
    private func text(_ action: CacheMachine.Action) -> String {
        switch action {
        case .lookUp: "look up"
        case .forward(let conditions):
            (["forward"] + conditions.map { "\($0.name): \($0.value)" }).joined(separator: " ")
        case .serve(let head): "serve \(head.status) \(head.source) age \(head.fields["Age"] ?? "")"
        case .fail: "fail"
        }
    }

    private func text(_ action: CacheMachine.HeadAction) -> String {
        switch action {
        case .deliver(let stored): stored == nil ? "deliver" : "deliver, store"
        case .deliverRemoving: "deliver, remove"
        case .serve(let head, let stored): "serve \(head.status) \(head.source), \(stored == nil ? "remove" : "store")"
        case .refetch: "refetch"
        case .serveStale(let head): "serve stale \(head.status)"
        }
    }

    private func begin(_ machine: CacheMachine) -> String {
        var machine = machine
        return self.text(machine.begin(Self.now))
    }

    private func found(_ machine: CacheMachine, _ found: (StoredResponse, Int64)?) -> String {
        var machine = machine
        _ = machine.begin(Self.now)
        return self.text(machine.found(found, Self.now))
    }

    @Test func everyPolicyDecidesAboutEveryStoredResponse() {
        let fresh = self.stored(["Cache-Control": "max-age=60"], age: 7)
        let stale = self.stored(["Cache-Control": "max-age=60", "ETag": "\"a\""], age: 61)
        let expected: [(CachePolicy, String, String, String, String)] = [
            // policy, begin, found a fresh one, a stale one, none
            (
                .useProtocolCachePolicy, "look up", "serve 200 cache age 7", "forward If-None-Match: \"a\"", "forward"
            ),
            (.reloadIgnoringCache, "forward", "", "", ""),
            (.returnCacheElseLoad, "look up", "serve 200 cache age 7", "serve 200 cache age 61", "forward"),
            (.returnCacheOnly, "look up", "serve 200 cache age 7", "serve 200 cache age 61", "fail"),
        ]
        for (policy, begin, whenFresh, whenStale, whenNone) in expected {
            let machine = self.machine("GET", [:], policy)
            #expect(self.begin(machine) == begin, "\(policy)")
            if begin == "forward" { continue }
            #expect(self.found(machine, fresh) == whenFresh, "\(policy)")
            #expect(self.found(machine, stale) == whenStale, "\(policy)")
            #expect(self.found(machine, nil) == whenNone, "\(policy)")
        }
    }

    @Test func requestsThatACacheCannotAnswerBypassIt() {
        for name in ["Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"] {
            #expect(self.begin(self.machine("GET", [name: "x"])) == "forward", "\(name)")
            #expect(self.begin(self.machine("GET", [name: "x"], .returnCacheElseLoad)) == "forward", "\(name)")
            #expect(self.begin(self.machine("GET", [name: "x"], .returnCacheOnly)) == "fail", "\(name)")
        }
        #expect(self.begin(self.machine("POST")) == "forward" && self.begin(self.machine("OPTIONS")) == "forward")
        #expect(self.begin(self.machine("POST", [:], .returnCacheOnly)) == "fail")
        #expect(self.begin(self.machine("GET", [:], hasContent: true)) == "forward")
        #expect(self.begin(self.machine("GET", ["Cache-Control": "no-store"])) == "forward")
        #expect(self.begin(self.machine("HEAD")) == "look up")
    }

    @Test func onlyIfCachedNeverConnects() {
        for policy in CachePolicy.allCases {
            let machine = self.machine("GET", ["Cache-Control": "only-if-cached"], policy)
            if policy != .reloadIgnoringCache { #expect(self.found(machine, nil) == "fail", "\(policy)") }
            #expect(self.begin(machine) == (policy == .reloadIgnoringCache ? "fail" : "look up"), "\(policy)")
        }
        let machine = self.machine("GET", ["Cache-Control": "only-if-cached"])
        #expect(self.found(machine, nil) == "fail")
        #expect(self.found(machine, self.stored(["Cache-Control": "max-age=5"], age: 6)) == "fail")
        #expect(self.found(machine, self.stored(["Cache-Control": "max-age=5"])) == "serve 200 cache age 0")
    }

    @Test func aResponseWithoutAValidatorIsRequestedAgain() {
        #expect(self.found(self.machine(), self.stored([:])) == "forward")
        let stale = self.stored(["ETag": "\"a\""])
        #expect(self.found(self.machine("HEAD"), stale) == "forward")
    }

    @Test func aConfirmationDeliversTheStoredResponse() {
        var machine = self.machine()
        _ = machine.begin(Self.now)
        _ = machine.found(self.stored(["ETag": "\"a\"", "Set-Cookie": "no"], age: 9), Self.now)
        let action = machine.headReceived(self.head(304, ["Set-Cookie": "a=b"]), Self.now + 1)
        guard case .serve(let head, let stored) = action else {
            Issue.record("\(action)")
            return
        }
        #expect(head.status == 200 && head.source == .validated && head.framing == .length(5))
        #expect(head.fields["Age"] == "1" && head.fields["Content-Length"] == "5")
        #expect(head.fields.values("Set-Cookie").last == "a=b")
        #expect(stored?.responseTime == Self.now + 1 && stored?.requestTime == Self.now)
    }

    private func validating(_ fields: HeaderFields, age: Int64 = 100) -> CacheMachine {
        var machine = self.machine()
        _ = machine.begin(Self.now)
        _ = machine.found(self.stored(fields, age: age), Self.now)
        return machine
    }

    @Test func everyResponseToAValidationHasItsConsequence() {
        let cases: [(HeaderFields, ResponseHead, String)] = [
            (["ETag": "\"a\""], self.head(304), "serve 200 validated, store"),
            (["ETag": "\"a\""], self.head(304, ["Cache-Control": "no-store"]), "serve 200 validated, remove"),
            (["ETag": "\"a\""], self.head(304, ["Vary": "*"]), "serve 200 validated, remove"),
            (["ETag": "\"a\""], self.head(304, ["ETag": "\"b\""]), "refetch"),
            (["ETag": "\"a\""], self.head(200), "deliver, store"),
            (["ETag": "\"a\""], self.head(200, ["Cache-Control": "no-store"]), "deliver, remove"),
            (["ETag": "\"a\""], self.head(404), "deliver, store"),
            (["ETag": "\"a\""], self.head(401), "deliver"), (["ETag": "\"a\""], self.head(407), "deliver"),
            (["ETag": "\"a\""], self.head(503), "deliver"), (["ETag": "\"a\""], self.head(206), "deliver"),
            (["ETag": "\"a\"", "Cache-Control": "stale-if-error=200"], self.head(503), "serve stale 200"),
            (["ETag": "\"a\"", "Cache-Control": "stale-if-error=99"], self.head(503), "deliver"),
            (["ETag": "\"a\"", "Cache-Control": "stale-if-error=200"], self.head(501), "deliver, store"),
        ]
        for (fields, head, expected) in cases {
            var machine = self.validating(fields)
            #expect(self.text(machine.headReceived(head, Self.now)) == expected, "\(head.status) \(Array(head.fields))")
        }
    }

    @Test func aSecondConfirmationOfAnotherResponseIsDelivered() {
        var machine = self.validating(["ETag": "\"a\""])
        let other = self.head(304, ["ETag": "\"b\""])
        #expect(self.text(machine.headReceived(other, Self.now)) == "refetch")
        #expect(self.text(machine.headReceived(other, Self.now)) == "deliver")
    }

    @Test func aConfirmationThatOnlyTheCallerRequestedIsDelivered() {
        var machine = self.machine("GET", ["If-None-Match": "\"a\""])
        _ = machine.begin(Self.now)
        #expect(self.text(machine.headReceived(self.head(304), Self.now)) == "deliver")
    }

    @Test func aFailureOfTheNetworkMayBeReplaced() {
        let machine = self.validating(["ETag": "\"a\"", "Cache-Control": "stale-if-error=200"])
        for code in [TransportError.Code.nameResolution, .refused, .unreachable, .connectTimeout, .reset, .truncated] {
            #expect(machine.failed(code, Self.now)?.source == .cache, "\(code)")
        }
        for code in [TransportError.Code.certificateExpired, .cancelled, .malformed, .proxyAuthentication] {
            #expect(machine.failed(code, Self.now) == nil, "\(code)")
        }
        #expect(self.validating(["ETag": "\"a\""]).failed(.refused, Self.now) == nil)
        #expect(self.machine().failed(.refused, Self.now) == nil)
    }

    @Test func onlyCompleteRepresentationsAreStored() {
        var range = self.machine("GET", ["Range": "bytes=0-1"])
        _ = range.begin(Self.now)
        #expect(self.text(range.headReceived(self.head(200), Self.now)) == "deliver")
        var conditional = self.machine("GET", ["If-None-Match": "\"a\""])
        _ = conditional.begin(Self.now)
        #expect(self.text(conditional.headReceived(self.head(200), Self.now)) == "deliver, store")
        var post = self.machine("POST")
        _ = post.begin(Self.now)
        #expect(self.text(post.headReceived(self.head(200), Self.now)) == "deliver")
        var head = self.machine("HEAD")
        _ = head.begin(Self.now)
        #expect(self.text(head.headReceived(self.head(200), Self.now)) == "deliver")
    }

    @Test func theDeliveredHeadFramesTheStoredBody() {
        var machine = self.machine()
        _ = machine.begin(Self.now)
        let stored = self.stored(["Cache-Control": "max-age=9", "Content-Length": "77", "Age": "1"], status: 204)
        guard case .serve(let head) = machine.found((stored.0, 0), Self.now) else {
            Issue.record("not served")
            return
        }
        #expect(head.framing == .none && head.fields.values("Age") == ["1"])
    }
}
