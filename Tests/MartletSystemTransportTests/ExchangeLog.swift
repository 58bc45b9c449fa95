// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import MartletSystemTransport

/// Records the calls of an exchange, and checks their order.
final class ExchangeLog: ExchangeReceiver {
    struct Record: Sendable {
        var connected = 0
        var interims: [Int] = []
        var head: ResponseHead?
        var body: [UInt8] = []
        var largestPart = 0
        var isClean: Bool?
        var error: TransportError?
        var isOver = false
    }

    let ended = Gate()
    let hasBody = Gate()
    private let record = Mutex(Record())
    private let onBody: @Sendable (Int) -> ReadDecision

    init(onBody: @escaping @Sendable (Int) -> ReadDecision = { _ in .read }) { self.onBody = onBody }

    var now: Record { self.record.withLock { $0 } }

    func whole() async -> Record {
        await self.ended.wait()
        return self.now
    }

    private func change(_ change: (inout Record) -> Void) {
        self.record.withLock { record in
            Self.expect(!record.isOver)
            change(&record)
        }
    }

    private static func expect(_ isInOrder: Bool) {
        if !isInOrder { Issue.record("a call that the port forbids at its place") }
    }

    func exchangeConnected() {
        self.change { record in
            Self.expect(record.connected == 0 && record.head == nil)
            record.connected += 1
        }
    }

    func exchangeReceived(interim status: Int, fields: HeaderFields) {
        self.change { record in
            Self.expect(record.connected == 1 && record.head == nil)
            record.interims.append(status)
        }
    }

    func exchangeReceived(head: ResponseHead) -> ReadDecision {
        self.change { record in
            Self.expect(record.connected == 1 && record.head == nil)
            record.head = head
        }
        return .read
    }

    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision {
        self.change { record in
            Self.expect(record.head != nil)
            record.body.append(contentsOf: body)
            record.largestPart = max(record.largestPart, body.count)
        }
        self.hasBody.open()
        return self.onBody(body.count)
    }

    func exchangeEnded(trailers: HeaderFields, cleanly: Bool) {
        self.change { record in
            Self.expect(record.head != nil)
            record.isOver = true
            record.isClean = cleanly
        }
        self.ended.open()
    }

    func exchangeFailed(_ error: TransportError) {
        self.change { record in
            record.isOver = true
            record.error = error
        }
        self.ended.open()
    }
}

extension Transport {
    /// Starts a request on the lane.
    func begin(
        _ url: HTTPURL,
        _ receiver: ExchangeLog,
        method: String = "GET",
        fields: HeaderFields = [:],
        _ configure: @escaping @Sendable (inout ExchangeRequest) -> Void = { _ in }
    ) async -> any Exchange {
        await withCheckedContinuation { continuation in
            self.execute(onLane: 0) {
                var request = ExchangeRequest(method: method, url: url, fields: fields, connectTimeout: 30_000_000_000)
                configure(&request)
                continuation.resume(returning: self.start(request, onLane: 0, receiver: receiver))
            }
        }
    }

    /// Runs a request to its end.
    func get(
        _ url: HTTPURL,
        method: String = "GET",
        fields: HeaderFields = [:],
        _ configure: @escaping @Sendable (inout ExchangeRequest) -> Void = { _ in }
    ) async -> ExchangeLog.Record {
        let receiver = ExchangeLog()
        _ = await self.begin(url, receiver, method: method, fields: fields, configure)
        return await receiver.whole()
    }
}
