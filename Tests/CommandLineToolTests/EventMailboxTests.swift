// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine

@testable import CommandLineTool

@Suite struct EventMailboxTests {
    private func event(_ id: UInt64, _ kind: TransferEvent.Kind) -> TransferEvent {
        TransferEvent(id: TransferID(id), url: "http://h/\(id)", userInfo: nil, kind: kind)
    }

    private func progress(_ bytes: Int64) -> TransferEvent.Kind {
        .progress(.init(bytes: bytes, total: 100, rate: 1, secondsLeft: nil, connections: 1))
    }

    private func mailbox() -> EventMailbox {
        EventMailbox(asciiOnly: false, wantsProgress: true, wantsDetails: true, wake: {})
    }

    @Test func progressIsFoldedIntoTheNewest() {
        let mailbox = self.mailbox()
        mailbox.take(self.event(1, .started(path: "d/a")))
        for bytes in 1...1000 { mailbox.take(self.event(1, self.progress(Int64(bytes)))) }
        let reports = mailbox.drain().reports
        #expect(reports.count == 2)
        guard case .progress(let progress)? = reports.last?.event.kind else {
            Issue.record("no progress")
            return
        }
        #expect(progress.bytes == 1000)
        #expect(reports.last?.path == "d/a")
        #expect(mailbox.drain().reports.isEmpty)
    }

    @Test func noProgressFollowsTheEnd() {
        let mailbox = self.mailbox()
        mailbox.take(self.event(1, .started(path: "a")))
        mailbox.take(self.event(1, self.progress(5)))
        mailbox.take(self.event(1, .cancelled))
        #expect(mailbox.drain().reports.count == 2)
    }

    @Test func detailsAreDroppedAndCountedAndEndingsAreKept() {
        let mailbox = self.mailbox()
        for _ in 0..<(EventMailbox.detailLimit + 10) { mailbox.take(self.event(1, .note("n"))) }
        mailbox.take(self.event(1, .failed(TransferFailure(.network, "cut"))))
        let reports = mailbox.drain().reports
        #expect(reports.count == EventMailbox.detailLimit + 2)
        guard case .missed(10)? = reports.last?.event.kind else {
            Issue.record("no count of what was missed")
            return
        }
    }

    @Test func aFaultOfTheInputFileIsAFailureWithItsPlace() {
        let mailbox = self.mailbox()
        mailbox.take(InputFault(line: 3, message: "bad"), file: "list.txt")
        let batch = mailbox.drain()
        #expect(batch.model.failed == 1 && batch.model.failureStatus.status == 28)
        #expect(batch.reports.first.flatMap { ReportText().line($0) } == "failed: list.txt:3: bad")
        #expect(
            batch.reports.first.flatMap { JSONEvents.line($0) }
                == #"{"event":"failed","id":null,"url":"","path":"","line":3,"error":{"code":28,"reason":"bad-option","#
                + #""message":"bad","remedy":"","retryable":false}}"#
        )
    }

    @Test func quietTellsFailuresOnly() {
        let quiet = ReportText(quiet: true)
        let report = { (kind: TransferEvent.Kind) in
            EventMailbox.Report(event: self.event(1, kind), name: "a", path: "a")
        }
        #expect(quiet.line(report(.finished(.init(path: "a", bytes: 1, received: 1, duration: .seconds(1))))) == nil)
        #expect(
            quiet.line(report(.failed(TransferFailure(.notFound, "gone", remedy: "look")))) == "failed: a: gone; look"
        )
        #expect(
            ReportText()
                .line(report(.finished(.init(path: "a", bytes: 1 << 20, received: 1 << 20, duration: .seconds(2)))))
                == "done: a (1.00 MiB in 2.00 s, 512 KiB/s)"
        )
        #expect(
            ReportText()
                .line(report(.finished(.init(path: "a", bytes: 1 << 20, received: 1 << 19, duration: .seconds(2)))))
                == "done: a (1.00 MiB, 512 KiB of it in 2.00 s, 256 KiB/s)"
        )
    }

    @Test("a hold is one line that says since when, until when and how to wait longer")
    func hold() {
        var text = ReportText()
        text.outageTimeout = .seconds(30)
        text.now = { 100 }
        var hold = HostHold(
            origin: Origin(scheme: .http, host: "h", port: 80),
            reason: .unreachable,
            code: .connectionRefused,
            cause: "connection refused",
            message: "m",
            since: 100,
            nextTry: 140
        )
        func line(_ kind: TransferEvent.Kind) -> String? {
            let event = TransferEvent(id: nil, url: "", userInfo: nil, kind: kind)
            return text.line(EventMailbox.Report(event: event, name: "", path: ""))
        }
        #expect(
            line(.held(hold))
                == "waiting: host h:80 unreachable since \(hold.sinceText) (connection refused), next try in 40 s; "
                + "waits up to 30s (--outage-timeout)"
        )
        #expect(line(.released(hold)) == "back: h:80 is reachable again")
        hold.origin = nil
        hold.reason = .network
        #expect(line(.held(hold))?.hasPrefix("waiting: network unreachable since ") == true)
        text.quiet = true
        #expect(line(.held(hold)) == nil)
    }

    @Test func verboseTellsHeadersButNoCredentials() {
        let fields: HeaderFields = ["ETag": "\"x\"", "Set-Cookie": "secret", "Location": "http://h/?token=secret"]
        let event = self.event(1, .response(.init(status: 200, fields: fields, expected: 7, path: "a", resumedFrom: 0)))
        let line = ReportText(verbose: true).line(EventMailbox.Report(event: event, name: "a", path: "a"))
        #expect(line == "response: a: status 200, 7 B\n  ETag: \"x\"")
    }
}
