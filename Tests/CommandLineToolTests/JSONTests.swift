// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferCore
import TransferEngine

@testable import CommandLineTool

@Suite struct JSONTests {
    private func line(_ kind: TransferEvent.Kind, path: String = "d/a") -> String? {
        let event = TransferEvent(id: TransferID(1), url: "http://h/a", userInfo: nil, kind: kind)
        return JSONEvents.line(EventMailbox.Report(event: event, name: "a", path: path), algorithm: .md5)
    }

    @Test func everyEventHasItsLine() {
        let head = #""id":1,"url":"http://h/a","path":"d/a""#
        let failure = TransferFailure(.overloaded, "status \"503\"", remedy: "wait", isRetryable: true, status: 503)
        let error =
            #""error":{"code":29,"reason":"overloaded","message":"status \"503\"","remedy":"wait","retryable":true,"status":503}"#
        #expect(self.line(.started(path: "d/a")) == #"{"event":"started",\#(head)}"#)
        #expect(
            self.line(.response(.init(status: 206, fields: [:], expected: 10, path: "d/a", resumedFrom: 4)))
                == #"{"event":"response",\#(head),"status":206,"bytes":4,"total":10}"#
        )
        #expect(
            self.line(.progress(.init(bytes: 5, total: nil, rate: 1.5, secondsLeft: nil, connections: 2)))
                == #"{"event":"progress",\#(head),"bytes":5,"total":null,"rate":1.5,"left":null,"connections":2}"#
        )
        #expect(
            self.line(.retrying(failure, attempt: 2, delay: .milliseconds(250)))
                == #"{"event":"retrying",\#(head),"attempt":2,"delay":0.25,\#(error)}"#
        )
        #expect(self.line(.paused) == #"{"event":"paused",\#(head)}"#)
        #expect(
            self.line(.finished(.init(path: "d/a", bytes: 10, received: 6, duration: .seconds(2), digest: [1, 0xAB])))
                == #"{"event":"finished",\#(head),"bytes":10,"total":10,"received":6,"seconds":2,"rate":3,"#
                + #""skipped":false,"verified":false,"digest":"md5:01ab"}"#
        )
        var completion = TransferEvent.Completion(path: "d/a", bytes: 10, received: 6, duration: .seconds(2))
        completion.verified = true
        completion.consistency = .singleResponse
        #expect(
            self.line(.finished(completion))
                == #"{"event":"finished",\#(head),"bytes":10,"total":10,"received":6,"seconds":2,"rate":3,"#
                + #""skipped":false,"verified":true,"consistency":"single-response"}"#
        )
        #expect(self.line(.failed(failure)) == #"{"event":"failed",\#(head),\#(error)}"#)
        #expect(self.line(.cancelled) == #"{"event":"cancelled",\#(head)}"#)
        #expect(self.line(.note("n")) == #"{"event":"note",\#(head),"message":"n"}"#)
        let hold = HostHold(
            origin: Origin(scheme: .http, host: "h", port: 80),
            reason: .unreachable,
            code: .connectionRefused,
            cause: "connection refused",
            message: "m",
            since: 100,
            nextTry: 140
        )
        let held =
            #""origin":"http://h:80","reason":"unreachable","cause":"connection-refused","message":"m","since":100"#
        #expect(self.line(.held(hold)) == #"{"event":"held",\#(held),"nextTry":140}"#)
        #expect(self.line(.released(hold)) == #"{"event":"released",\#(held),"nextTry":140}"#)
        #expect(self.line(.missed(3)) == #"{"event":"missed","count":3}"#)
        #expect(self.line(.drained) == nil)
        let summary = Summary(finished: 1, skipped: 2, failed: 3, unfinished: 4, received: 5, elapsed: .seconds(10))
        #expect(
            JSONEvents.end(summary, status: 7)
                == #"{"event":"end","finished":1,"skipped":2,"unchanged":0,"failed":3,"unfinished":4,"bytes":5,"seconds":10,"#
                + #""rate":0.5,"status":7}"#
        )
    }

    @Test(arguments: [
        (0.0, "0"), (1.0, "1"), (1.5, "1.5"), (0.001, "0.001"), (1234.5678, "1234.568"), (-0.5, "-0.5"), (.nan, "null"),
        (.infinity, "null"), (1e300, "null"),
    ])
    func numbersAreValid(value: Double, text: String) {
        #expect(JSON.decimal(value).text == text)
    }
}
