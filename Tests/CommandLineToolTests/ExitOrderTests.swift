// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferCore
import TransferEngine

@testable import CommandLineTool

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("The exit status of a run with several reasons")
struct ExitOrderTests {
    @Test("It does not depend on the order in which they occur")
    func anyOrder() {
        for first in ExitOrder.statuses {
            for second in ExitOrder.statuses {
                #expect(ExitOrder.status(of: [first, second]) == ExitOrder.status(of: [second, first]))
                #expect([first, second].contains(ExitOrder.status(of: [first, 0, second])))
            }
        }
        #expect(ExitOrder.status(of: []) == 0 && ExitOrder.status(of: [0, 0]) == 0)
    }

    @Test("Every failure has a place, once")
    func complete() {
        var expected: Set<Int32> = [ExitStatus.interrupted, ExitStatus.unfinished, ExitStatus.rowsFailed]
        for code in TransferFailure.Code.allCases { expected.insert(Int32(Aria2ExitStatus(code).number)) }
        #expect(Set(ExitOrder.statuses) == expected)
        #expect(ExitOrder.statuses.count == expected.count)
        // From a later daemon.
        #expect(
            ExitOrder.status(of: [99]) == 1 && ExitOrder.status(of: [99, 3]) == 3 && ExitOrder.status(of: [99, 6]) == 1
        )
    }

    @Test("A failure that another run may cure is reported only if all are of this kind")
    func curable() {
        let curable: [Int32] = [11, 19, 6, 2, 5, 29, 7]
        for status in ExitOrder.statuses where !curable.contains(status) && status != ExitStatus.rowsFailed {
            for other in curable { #expect(ExitOrder.status(of: [other, status]) == status) }
        }
    }

    @Test("The published order is the one that is used")
    func published() throws {
        #expect(ExitOrder.text == ExitOrder.statuses.map { "\($0)" }.joined(separator: ", "))
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let data = try Data(contentsOf: URL(fileURLWithPath: root + "/Docs/Downloading.md"))
        let words = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains(ExitOrder.text))
        #expect(
            CommandLineTool.run(["help", "get"]).output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                .contains(ExitOrder.text)
        )
        #expect(try ManualPage.current().contains(ManualPage.escaped(ExitOrder.text)))
    }

    @Test("A list with a 404 and a 403 ends with the same status, whichever is last", arguments: [false, true])
    func list(isReversed: Bool) {
        var model = RunModel()
        let failures = [TransferFailure(.notFound, "404"), TransferFailure(.badResponse, "403")]
        for failure in isReversed ? failures.reversed() : failures { model.fail("name", failure) }
        #expect(model.failureStatus.status == 3)
    }

    @Test("So does a wait for them", arguments: [[3, 22, nil], [22, nil, 3], [nil, 3, 22]])
    func wait(codes: [Int?]) throws {
        var model = WaitModel([])
        for code in codes {
            var record = TransferRecord(
                id: GID.random(),
                state: code == nil ? .removed : .failed,
                urls: ["http://h/a"],
                directory: "/d",
                added: 1
            )
            record.failure = code.map { .init(code: $0, message: "it broke", remedy: "") }
            _ = model.note(record)
        }
        #expect(model.status == 3)
    }
}
