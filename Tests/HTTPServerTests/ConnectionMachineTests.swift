// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Testing

@testable import HTTPServer

@Suite("A connection")
struct ConnectionMachineTests {
    private static let times = ConnectionTimes(
        head: .seconds(30),
        keepAlive: .seconds(75),
        idle: .seconds(60),
        upload: .seconds(1000),
        slowest: 100
    )
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func at(_ seconds: Int64) -> NIODeadline { Self.start + .seconds(seconds) }
    private func machine() -> ConnectionMachine { ConnectionMachine(times: Self.times, now: Self.start) }

    @Test("continues with the next request when the request and its response are complete, in either order")
    func keepAlive() {
        var machine = self.machine()
        machine.headEnded(keepsAlive: true, now: self.at(1))
        #expect(machine.requestEnded(now: self.at(1)) == .wait)
        #expect(!machine.takesRequests)
        #expect(machine.responseBegan(closes: false, mayDrain: false, now: self.at(1)) == false)
        #expect(machine.responseEnded(now: self.at(2)) == .nextRequest)
        #expect(machine.takesRequests)

        machine.headEnded(keepsAlive: true, now: self.at(3))
        #expect(machine.responseBegan(closes: false, mayDrain: true, now: self.at(3)) == false)
        #expect(machine.responseEnded(now: self.at(3)) == .wait)
        #expect(machine.requestEnded(now: self.at(4)) == .nextRequest)
    }

    @Test("ends with the receiver at once if it is idle, and completes a head that has started")
    func stopBeforeRequest() {
        var fresh = self.machine()
        #expect(fresh.takesRequests)
        #expect(fresh.deadline == self.at(30))
        #expect(fresh.stop(now: self.at(1)) == .close)
        var begun = self.machine()
        begun.headBegan(now: self.at(1))
        #expect(begun.deadline == self.at(30))
        #expect(begun.stop(now: self.at(2)) == .wait)
    }

    @Test("lingers if unwanted content can still arrive, so that the response is not lost")
    func lingers() {
        var machine = self.machine()
        machine.headEnded(keepsAlive: true, now: self.at(1))
        #expect(machine.responseBegan(closes: false, mayDrain: false, now: self.at(1)) == true)
        #expect(machine.responseEnded(now: self.at(1)) == .linger)
        #expect(machine.isLingering)
        #expect(machine.timerFired(now: self.at(3)) == .close)
    }

    @Test("closes where the client or the answer says so")
    func closes() {
        var machine = self.machine()
        machine.headEnded(keepsAlive: false, now: self.at(1))
        _ = machine.requestEnded(now: self.at(1))
        #expect(machine.responseBegan(closes: false, mayDrain: true, now: self.at(1)) == true)
        #expect(machine.responseEnded(now: self.at(1)) == .close)
    }

    @Test("gives a head its time from the connection's begin, however it drips")
    func slowHead() {
        var machine = self.machine()
        machine.headBegan(now: self.at(20))
        #expect(machine.deadline == self.at(30))
        #expect(machine.timerFired(now: self.at(29)) == .wait)
        #expect(machine.timerFired(now: self.at(30)) == .respondTimeout)
    }

    @Test("closes an idle connection quietly")
    func idle() {
        var machine = self.machine()
        machine.headEnded(keepsAlive: true, now: self.at(1))
        _ = machine.requestEnded(now: self.at(1))
        _ = machine.responseBegan(closes: false, mayDrain: true, now: self.at(1))
        _ = machine.responseEnded(now: self.at(1))
        #expect(machine.deadline == self.at(76))
        #expect(machine.timerFired(now: self.at(76)) == .close)
    }

    @Test("gives up a sender that sends a byte a second, and not one that sends a hundred")
    func slowSender() {
        var slow = self.machine()
        slow.headEnded(keepsAlive: true, now: self.at(0))
        for second in 1...60 { slow.bodyReceived(1, now: self.at(Int64(second))) }
        #expect(slow.timerFired(now: self.at(61)) == .respondTimeout)

        var steady = self.machine()
        steady.headEnded(keepsAlive: true, now: self.at(0))
        for second in 1...900 { steady.bodyReceived(100, now: self.at(Int64(second))) }
        #expect(steady.timerFired(now: self.at(901)) == .wait)
        // But no longer than an upload may take in all.
        #expect(steady.deadline == self.at(960))
        for second in 901...1000 { steady.bodyReceived(100, now: self.at(Int64(second))) }
        #expect(steady.timerFired(now: self.at(1000)) == .respondTimeout)
    }

    @Test("gives up a sender that sends nothing")
    func silentSender() {
        var machine = self.machine()
        machine.headEnded(keepsAlive: true, now: self.at(0))
        machine.bodyReceived(1_000_000, now: self.at(10))
        #expect(machine.deadline == self.at(70))
    }

    @Test("does not count the time in which the request waits for the disk")
    func held() {
        var machine = self.machine()
        machine.headEnded(keepsAlive: true, now: self.at(0))
        machine.held(true, now: self.at(0))
        #expect(machine.deadline == .distantFuture)
        machine.held(false, now: self.at(500))
        machine.bodyReceived(1, now: self.at(501))
        #expect(machine.deadline == self.at(560))
    }

    @Test("reads what nobody wants after its answer, but not for ever, however it drips")
    func dripping() {
        var machine = self.machine()
        machine.headEnded(keepsAlive: true, now: self.at(0))
        _ = machine.responseBegan(closes: false, mayDrain: true, now: self.at(0))
        _ = machine.responseEnded(now: self.at(1))
        for second in 2...60 {
            machine.bodyReceived(1, now: self.at(Int64(second)))
            #expect(machine.timerFired(now: self.at(Int64(second))) == .wait)
        }
        machine.bodyReceived(1, now: self.at(61))
        #expect(machine.timerFired(now: self.at(61)) == .close)
    }

    @Test("looks at whether the client takes the answer, and ends where it does not")
    func slowReader() {
        var machine = self.machine()
        machine.headEnded(keepsAlive: true, now: self.at(0))
        _ = machine.requestEnded(now: self.at(0))
        _ = machine.responseBegan(closes: false, mayDrain: true, now: self.at(0))
        #expect(machine.timerFired(now: self.at(60)) == .lookAtProgress)
        machine.progressed(now: self.at(60))
        #expect(machine.deadline == self.at(120))
    }

    @Test("ends at once when the receiver stops and it is idle, else after its answer")
    func stop() {
        var idle = self.machine()
        idle.headEnded(keepsAlive: true, now: self.at(0))
        _ = idle.requestEnded(now: self.at(0))
        _ = idle.responseBegan(closes: false, mayDrain: true, now: self.at(0))
        _ = idle.responseEnded(now: self.at(0))
        #expect(idle.stop(now: self.at(1)) == .close)

        var busy = self.machine()
        busy.headEnded(keepsAlive: true, now: self.at(0))
        #expect(busy.stop(now: self.at(1)) == .wait)
        _ = busy.requestEnded(now: self.at(2))
        #expect(busy.responseBegan(closes: false, mayDrain: true, now: self.at(2)) == true)
        #expect(busy.responseEnded(now: self.at(2)) == .close)
    }

    @Test("gives a client that is not authenticated less time for a head, for content and between requests")
    func unauthenticated() {
        var times = Self.times
        times.unauthenticated = .seconds(15)
        var machine = ConnectionMachine(times: times, now: Self.start)
        #expect(machine.deadline == self.at(15))
        machine.headBegan(now: self.at(1))
        #expect(machine.timerFired(now: self.at(15)) == .respondTimeout)
        machine.headEnded(keepsAlive: true, now: self.at(2))
        // However it drips.
        machine.bodyReceived(1000, now: self.at(16))
        #expect(machine.deadline == self.at(17))
        machine.isAuthenticated = true
        #expect(machine.deadline == self.at(72))
        #expect(machine.timerFired(now: self.at(17)) == .wait)
        #expect(machine.requestEnded(now: self.at(20)) == .wait)
        // A pending response has no limit.
        machine.isAuthenticated = false
        #expect(machine.deadline == .distantFuture)
        _ = machine.responseBegan(closes: false, mayDrain: true, now: self.at(21))
        #expect(machine.responseEnded(now: self.at(22)) == .nextRequest)
        #expect(machine.deadline == self.at(37))
        machine.isAuthenticated = true
        #expect(machine.deadline == self.at(97))
    }
}
