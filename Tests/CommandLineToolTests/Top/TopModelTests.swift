// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferTesting

@testable import CommandLineTool

@Suite struct TopModelTests {
    private func id(_ number: UInt64) throws -> GID { try #require(GID(rawValue: number)) }

    private func world(_ states: TransferRecord.State..., rows: Int = 24) -> TopWorld {
        var world = TopWorld(rows: rows)
        world.records = states.enumerated().map { TopWorld.record(UInt64($0 + 1), $1, name: "f\($0 + 1)") }
        world.settle()
        world.tick()
        world.settle()
        return world
    }

    @Test func onlyTheVisibleRowsAreRequestedOncePerInterval() {
        var world = TopWorld(count: 100_000)
        world.settle()
        let first = world.loads.count
        for _ in 0..<10 {
            world.tick()
            world.settle()
        }
        #expect(world.loads.count == first + 10)
        #expect(world.loads.allSatisfy { $0.limit <= 24 + 8 })
        world.press(.end)
        #expect(world.openLoads == 1)
        world.settle()
        #expect(world.model.window.cursor == 99_999)
        #expect(world.lines().contains { $0.contains(">  file99999") })
        world.press(.character("g"))
        world.settle()
        #expect(world.model.window.selected == world.records[0].id)
    }

    @Test func aTransferThatEndsIsNotFollowedIntoTheHistory() throws {
        var world = self.world(.active, .waiting, .waiting)
        world.records[0].state = .finished
        world.records.append(world.records.removeFirst())
        world.tick()
        world.settle()
        #expect(world.model.window.cursor == 0)
        #expect(world.model.window.selected == (try self.id(2)))
    }

    @Test func keysChangeTheSelectedTransferOrTheMarkedOnes() throws {
        var world = self.world(.active, .waiting, .paused, .failed)
        world.type("p")
        #expect(world.calls.last == .pause(.ids([try self.id(1)])))
        world.answerCall()
        world.type(" ")
        #expect(world.model.window.cursor == 1)
        world.type("  ")
        world.type("p")
        #expect(world.calls.last == .pause(.ids([try self.id(1), try self.id(2)])))
        world.answerCall()
        world.type("r")
        #expect(world.calls.last == .resume(.ids([try self.id(3)])))
        world.answerCall()
        world.press(.escape, .end)
        world.type("t")
        #expect(world.calls.last == .retry(.ids([try self.id(4)])))
        world.answerCall()
        world.type("p")
        #expect(world.model.message == .init(text: "the transfer is not running or waiting", isError: true))
        world.type("P")
        #expect(world.calls.last == .pause(.all))
        world.answerCall()
        world.type("R")
        #expect(world.calls.last == .resume(.all))
        world.answerCall()
        world.type("T")
        #expect(world.calls.last == .retry(.all))
    }

    @Test func removingAsksFirst() throws {
        var world = self.world(.waiting, .finished)
        world.type("d")
        #expect(world.calls.isEmpty && world.lines()[21].hasPrefix(" remove f1?"))
        #expect(world.lines()[22].contains("y: yes, keep partial data   x: yes, delete partial data   n: no"))
        world.type("n")
        #expect(world.model.prompt == nil && world.calls.isEmpty)
        world.type("dx")
        #expect(world.calls.last == .remove(.ids([try self.id(1)]), deletesPartial: true))
        world.answerCall()
        world.press(.end)
        world.type("dx")
        #expect(world.model.prompt != nil && world.calls.count == 1)
        world.type("y")
        #expect(world.calls.last == .forget(.ids([try self.id(2)])))
        world.answerCall()
        world.press(.home)
        world.type("ady")
        #expect(world.calls.last == .remove(.ids([try self.id(1)]), deletesPartial: false))
        world.answerCall()
        #expect(world.calls.last == .forget(.ids([try self.id(2)])))
        world.answerCall()
        world.type("Dy")
        #expect(world.calls.last == .remove(.all, deletesPartial: false))
        world.answerCall()
        world.type("6Dy")
        #expect(world.calls.last == .forget(.all))
    }

    @Test func reorderingMovesPastTheNeighbourInTheList() throws {
        var world = self.world(.active, .waiting, .waiting, .finished)
        world.press(.down)
        world.type("+")
        #expect(world.calls.last == .move(try self.id(2), .of(try self.id(1))))
        world.answerCall()
        world.press(.shiftDown)
        #expect(world.calls.last == .move(try self.id(2), .of(try self.id(3))))
        world.answerCall()
        // The last unfinished one has nothing behind it, and the first one nothing before it.
        world.press(.down)
        world.settle()
        world.type("-")
        world.press(.home)
        world.type("+")
        #expect(world.calls.count == 2)
        world.type("  ")
        world.type("-")
        #expect(world.calls.last == .move(try self.id(2), .of(try self.id(3))))
        world.answerCall()
        #expect(world.calls.last == .move(try self.id(1), .of(try self.id(3))))
        world.answerCall()
        world.type("<")
        world.answerCall()
        #expect(world.calls.suffix(2) == [.move(try self.id(2), .first), .move(try self.id(1), .first)])
        world.answerCall()
        world.press(.escape, .end)
        world.type(">")
        #expect(world.model.message?.text == "transfers that have ended are not in the queue")
    }

    @Test func anErrorIsShownWithItsRemedyUntilTheNextKey() {
        var world = self.world(.waiting)
        world.type("p")
        world.answerCall(.failure(ControlError(.wrongState, "it failed", remedy: "try this")))
        world.tick(100)
        #expect(world.lines()[21].hasPrefix(" it failed; try this"))
        world.press(.down)
        #expect(world.model.message == nil)
        world.type("p")
        world.answerCall(.success("1 transfer paused"))
        #expect(world.lines()[21].hasPrefix(" 1 transfer paused"))
        world.tick(7)
        #expect(world.model.message == nil)
    }

    @Test func aLostDaemonIsShownAndLookedForUntilItIsBack() {
        var world = self.world(.waiting)
        world.tick()
        world.answerLoad(ControlError(.notRunning, "no daemon runs", remedy: "start one"))
        #expect(
            world.lines()[0].contains("disconnected since") && world.lines()[0].contains("no daemon runs; start one")
        )
        #expect(world.openLoads == 0)
        for _ in 0..<3 {
            world.tick()
            world.answerLoad(ControlError(.unreachable, "gone"))
        }
        #expect(world.loads.count >= 4)
        world.tick()
        world.settle()
        #expect(world.model.loss == nil && !world.lines()[0].contains("disconnected"))
    }

    @Test func tabsFilterAndEndedTransfersAreListedLatestFirst() {
        var world = self.world(.active, .waiting, .paused, .finished, .finished, .failed)
        world.type("3")
        #expect(world.loads.last?.query == TopQuery(tab: .waiting))
        world.settle()
        #expect(world.lines().contains { $0.contains(">  f2") } && !world.lines().contains { $0.contains("f1") })
        world.type("6")
        world.settle()
        #expect(world.model.window.records.map(\.id.rawValue) == [5, 4])
        world.press(.tab)
        #expect(world.model.query.tab == .all)
        world.press(.backTab, .left)
        #expect(world.model.query.tab == .failed)
    }

    @Test func searchingAndSortingNeedADaemonThatCan() {
        var world = self.world(.waiting, .waiting)
        world.type("/")
        world.type("f2")
        world.press(.enter)
        world.settle()
        #expect(world.model.query.search == "f2" && world.model.window.total == 1)
        #expect(world.lines()[0].contains("with \"f2\""))
        world.type("s")
        #expect(world.loads.last?.query.order == .newest || world.model.query.order == .newest)
        world.press(.escape)
        #expect(world.model.query.search == "")
        world.features = TopFeatures()
        world.settle()
        world.tick()
        world.settle()
        world.type("/")
        #expect(world.model.prompt == nil && world.model.message?.isError == true)
        world.type("s")
        #expect(world.model.message?.text.contains("martlet stop") == true)
    }

    @Test func limitsAreEnteredAndBadOnesAreExplained() throws {
        var world = self.world(.waiting)
        world.type("l")
        world.settle()
        #expect(world.loads.last?.wantsLimits == true)
        world.press(.enter, .control("u"))
        world.type("fast")
        world.press(.enter)
        #expect(world.model.prompt?.isError == true && world.lines()[22].contains("is not a size"))
        world.press(.control("u"))
        world.type("2M")
        world.press(.enter)
        #expect(world.calls.last == .limitRate(2 << 20))
        world.answerCall()
        world.press(.down, .enter, .control("u"))
        world.type("7")
        world.press(.enter)
        #expect(world.calls.last == .limitConcurrent(7))
        world.answerCall()
        world.press(.down, .enter)
        world.type("example.org=3")
        world.press(.enter)
        #expect(world.calls.last == .limitHost("example.org", 3))
        world.answerCall()
        world.press(.down, .enter)
        world.type("1K")
        world.press(.enter)
        #expect(world.calls.last == .limitTransfers([try self.id(1)], 1024))
        world.press(.escape)
        #expect(world.model.mode == .list)
    }

    @Test func aFailedTransferGetsANewURLAndKeepsItsMirrors() throws {
        var world = self.world(.failed, .finished)
        world.records[0].urls.append("http://mirror/f")
        world.tick()
        world.settle()
        world.type("u")
        world.press(.control("u"), .paste("http://new/f?token=1\n"), .enter)
        #expect(
            world.calls.last
                == .replaceURLs(try self.id(1), ["http://new/f?token=1", "http://mirror/f"], retries: true)
        )
        world.press(.end)
        world.type("u")
        #expect(world.model.message?.text == "the transfer is finished")
    }

    @Test func detailsAreRefreshedAndKeptWhenTheTransferIsForgotten() {
        var world = self.world(.failed)
        world.press(.enter)
        #expect(world.loads.last?.details == world.records[0].id)
        world.settle()
        #expect(world.lines().contains { $0.hasPrefix("state:        failed") })
        world.records = []
        world.tick()
        world.settle()
        #expect(world.lines().contains { $0.contains("does not exist") })
        world.type("q")
        #expect(world.model.mode == .list && !world.hasQuit)
        world.type("q")
        #expect(world.hasQuit)
    }

    @Test func changesArePerformedOneAfterAnotherAndASlowOneIsShown() throws {
        var world = self.world(.waiting, .paused)
        world.type("p")
        world.press(.down)
        world.type("r")
        #expect(world.calls == [.pause(.ids([try self.id(1)]))])
        world.tick()
        world.tick()
        #expect(world.lines()[0].hasSuffix("waiting for the last change "))
        world.answerCall()
        #expect(world.calls.last == .resume(.ids([try self.id(2)])))
        #expect(!world.lines()[0].contains("waiting"))
    }

    @Test func quittingWaitsForTheRequestedChanges() {
        var world = self.world(.waiting, .waiting)
        world.type("p")
        world.press(.down)
        world.type("pq")
        #expect(!world.hasQuit && world.lines()[21].contains("q: quit at once"))
        world.answerCall()
        #expect(!world.hasQuit && world.openCalls == 1)
        world.answerCall()
        #expect(world.hasQuit)
        var other = self.world(.waiting)
        other.type("pq")
        other.answerCall(.failure(ControlError(.storage, "broken")))
        #expect(!other.hasQuit && other.model.message?.text == "broken")
        other.type("q")
        #expect(other.hasQuit)
        var hasty = self.world(.waiting)
        hasty.type("pqq")
        #expect(hasty.hasQuit)
    }

    @Test func aPasteIsNeverACommand() {
        var world = self.world(.waiting)
        world.press(.paste("Dyq"))
        #expect(world.calls.isEmpty && !world.hasQuit && world.model.prompt == nil)
    }

    @Test func aSlowSearchIsRepeatedLessOften() {
        var world = TopWorld(count: 10)
        world.settle()
        var snapshot = TopSnapshot(request: world.loads[0])
        snapshot.seconds = 0.5
        world.tick()
        world.handle(.loaded(snapshot))
        let before = world.loads.count
        for _ in 0..<4 { world.tick() }
        #expect(world.loads.count == before)
        world.tick()
        #expect(world.loads.count == before + 1)
    }
}
