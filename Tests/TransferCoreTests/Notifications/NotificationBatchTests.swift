// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Ends of transfers, combined into notifications")
struct NotificationBatchTests {
    private static let second: Int64 = 1_000_000_000
    private static let all: Set<TransferNotification> = [.finished, .failed, .allDone]

    private static func file(_ name: String = "a.iso", failure: String? = nil) -> NotificationBatch.Ending {
        NotificationBatch.Ending(name: name, isUpload: false, bytes: 1536, failure: failure)
    }

    private static func text(_ action: NotificationBatch.Action?) -> String? {
        switch action {
        case .post(let notification, let replaced): "\(notification.summary) | \(notification.body) | \(replaced)"
        case .wait(let until): "wait \(until / Self.second)"
        case nil: nil
        }
    }

    @Test("The first end is posted at once, those of the next seconds together in its place")
    func burst() {
        var batch = NotificationBatch(application: "Martlet")
        batch.ended([Self.file()], isAllDone: false, wanted: Self.all, at: 0)
        #expect(Self.text(batch.next(at: 0)) == "Download finished | a.iso, 1.50 KiB | 0")
        for number in 0..<35 { batch.ended([Self.file("\(number)")], isAllDone: false, wanted: Self.all, at: 1) }
        batch.ended(
            [Self.file("b", failure: "no route"), Self.file("c", failure: "refused"), Self.file("d")],
            isAllDone: false,
            wanted: Self.all,
            at: 2
        )
        // While the first one is being posted nothing else is.
        #expect(batch.next(at: 3) == nil)
        batch.posted(11, at: Self.second)
        #expect(Self.text(batch.next(at: Self.second)) == "wait 6")
        #expect(batch.next(at: Self.second) == nil)
        batch.woke()
        #expect(Self.text(batch.next(at: 6 * Self.second)) == "37 downloads finished, 2 failed | c: refused | 11")
        batch.posted(11, at: 6 * Self.second)
        #expect(batch.next(at: 600 * Self.second) == nil)
    }

    @Test("After a quiet time there is a new notification")
    func quiet() {
        var batch = NotificationBatch(application: "Martlet")
        batch.ended([Self.file()], isAllDone: false, wanted: Self.all, at: 0)
        _ = batch.next(at: 0)
        batch.posted(11, at: 0)
        batch.ended([Self.file("b")], isAllDone: false, wanted: Self.all, at: 29 * Self.second)
        #expect(Self.text(batch.next(at: 29 * Self.second)) == "2 downloads finished | b and 1 other | 11")
        batch.posted(12, at: 29 * Self.second)
        batch.ended([Self.file("c")], isAllDone: false, wanted: Self.all, at: 59 * Self.second)
        #expect(Self.text(batch.next(at: 59 * Self.second)) == "Download finished | c, 1.50 KiB | 0")
        #expect(!batch.isIdle(at: 9999 * Self.second))
        batch.posted(nil, at: 60 * Self.second)
        batch.ended([], isAllDone: true, wanted: [], at: 60 * Self.second)
        #expect(batch.isIdle(at: 9999 * Self.second))
    }

    @Test("Only what is wanted is posted; the counts of all done are those of all")
    func wanted() {
        var batch = NotificationBatch(application: "Martlet")
        let failed = Self.file("b", failure: "refused")
        batch.ended([Self.file(), failed], isAllDone: false, wanted: [.allDone], at: 0)
        #expect(batch.next(at: 0) == nil)
        batch.ended([Self.file("c")], isAllDone: true, wanted: [.allDone], at: 1)
        #expect(Self.text(batch.next(at: 1)) == "All downloads are done | 2 finished, 1 failed | 0")
        batch.posted(1, at: 1)
        batch.ended([Self.file("d"), failed], isAllDone: true, wanted: [.failed], at: 90 * Self.second)
        #expect(Self.text(batch.next(at: 90 * Self.second)) == "Download failed | b: refused | 0")
    }

    @Test("The end of the only transfer is one notification, not also that all are done")
    func single() {
        var batch = NotificationBatch(application: "Martlet")
        batch.ended([Self.file()], isAllDone: true, wanted: Self.all, at: 0)
        #expect(Self.text(batch.next(at: 0)) == "Download finished | a.iso, 1.50 KiB | 0")
        batch.posted(1, at: 0)
        #expect(batch.next(at: 100 * Self.second) == nil)
        batch.ended([Self.file()], isAllDone: true, wanted: [.failed, .allDone], at: 100 * Self.second)
        #expect(Self.text(batch.next(at: 100 * Self.second)) == "All downloads are done | a.iso, 1.50 KiB | 0")
    }

    @Test("Uploads, and both together")
    func uploads() {
        var batch = NotificationBatch(application: "Martlet")
        let sent = NotificationBatch.Ending(name: "a", isUpload: true, bytes: 5)
        batch.ended([sent, sent], isAllDone: false, wanted: Self.all, at: 0)
        #expect(Self.text(batch.next(at: 0)) == "2 uploads finished | a and 1 other | 0")
        batch.posted(3, at: 0)
        batch.ended([Self.file("b")], isAllDone: true, wanted: Self.all, at: 9 * Self.second)
        #expect(Self.text(batch.next(at: 9 * Self.second)) == "All transfers are done | 3 finished | 3")
    }

    @Test("Names from outside are text: without markup and control characters, and short")
    func hostile() {
        var batch = NotificationBatch(application: "a\u{202E}<b>\n")
        let name = "<b>&\u{1B}[2J\u{202E}" + String(repeating: "x", count: 3000) + ".iso"
        batch.ended([Self.file(name)], isAllDone: false, wanted: Self.all, at: 0)
        guard case .post(let notification, _) = batch.next(at: 0) else {
            Issue.record("nothing is posted")
            return
        }
        #expect(notification.application == "a\u{FFFD}<b> ")
        #expect(notification.body.hasPrefix("&lt;b&gt;&amp;\u{FFFD}[2J\u{FFFD}xxx") && notification.body.count < 200)
        #expect(notification.body.hasSuffix("x.iso, 1.50 KiB"))
        let marks = String(repeating: "\u{301}", count: 100_000)
        #expect(DesktopNotification.clean("e" + marks, limit: 100).unicodeScalars.count <= 400)
        #expect(DesktopNotification.clean("", limit: 10) == "")
    }
}
