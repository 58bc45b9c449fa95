// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Surveys that fail, and names that are taken")
struct SurveyFailureTests {
    @Test("a survey without a descriptor says nothing about the file: the transfer waits, and keeps its name")
    func noDescriptor() throws {
        let stage = Stage()
        stage.store.failSurveys(with: [.tooManyFiles, .tooManyFiles])
        let id = try stage.add("http://a/f") { options in
            options.retries = 0
            options.outageTimeout = .seconds(30)
        }
        #expect(stage.open.isEmpty)
        stage.clock.advance(by: .seconds(1))
        #expect(stage.open.isEmpty)
        stage.clock.advance(by: .seconds(1))
        Served(length: 5).answer(try #require(stage.open.first))
        #expect(stage.end(id) == "finished")
        #expect(stage.store.files.keys.allSatisfy { $0.hasSuffix("f") } && stage.store.files.count == 1)
    }

    @Test("a survey that fails for another reason fails the transfer with that reason, under its own name")
    func unreadable() throws {
        let stage = Stage()
        stage.store.failSurveys(with: [.cannotOpen])
        let id = try stage.add("http://a/f")
        #expect(stage.failure(id)?.code == .cannotOpen)
        #expect(stage.store.files.isEmpty)
    }

    @Test("if every name is taken, the transfer fails after a bounded number of names, without recursion")
    func noName() throws {
        let stage = Stage()
        stage.store.makeEveryNameForeign()
        let id = try stage.add("http://a/f")
        let failure = try #require(stage.failure(id))
        #expect(failure.code == .fileExists && failure.message.contains("no free name"))
    }
}
