// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Synchronization
import TransferCore
import TransferEngine
import TransferTesting

/// Takes an exchange's parts down and waits for its end.
final class ExchangeRecorder: ExchangeReceiver {
    /// The events of an exchange.
    struct Record: Sendable {
        var connectedCount = 0
        var head: ResponseHead?
        var body: [UInt8] = []
        var bodyPartCount = 0
        var trailers: HeaderFields?
        var isClean: Bool?
        var error: TransportError?
        /// Calls that the port forbids at their place.
        var violations: [String] = []
        var isOver = false
    }

    /// Open when the exchange has ended or failed.
    let ended = Gate()
    /// Open when the first byte of the body has come.
    let hasBody = Gate()
    /// Open when the exchange is connected.
    let connected = Gate()
    private let record = Mutex(Record())
    private let onHead: @Sendable (ResponseHead) -> ReadDecision
    private let onBody: @Sendable (Int) -> ReadDecision
    private let onEnd: @Sendable () -> Void

    init(
        onHead: @escaping @Sendable (ResponseHead) -> ReadDecision = { _ in .read },
        onBody: @escaping @Sendable (Int) -> ReadDecision = { _ in .read },
        onEnd: @escaping @Sendable () -> Void = {}
    ) {
        self.onHead = onHead
        self.onBody = onBody
        self.onEnd = onEnd
    }

    /// The events so far.
    var now: Record { self.record.withLock { $0 } }

    /// The events when the exchange has ended.
    func whole() async -> Record {
        await self.ended.wait()
        return self.now
    }

    func exchangeConnected() {
        self.record.withLock { record in
            record.connectedCount += 1
            if record.head != nil || record.isOver { record.violations.append("connected late") }
        }
        self.connected.open()
    }

    func exchangeReceived(head: ResponseHead) -> ReadDecision {
        self.record.withLock { record in
            if record.connectedCount != 1 || record.head != nil || record.isOver { record.violations.append("head") }
            record.head = head
        }
        return self.onHead(head)
    }

    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision {
        self.record.withLock { record in
            if record.head == nil || record.isOver { record.violations.append("body") }
            record.body.append(contentsOf: body)
            record.bodyPartCount += 1
        }
        self.hasBody.open()
        return self.onBody(body.count)
    }

    func exchangeEnded(trailers: HeaderFields, cleanly: Bool) {
        self.record.withLock { record in
            if record.head == nil || record.isOver { record.violations.append("ended") }
            record.isOver = true
            record.trailers = trailers
            record.isClean = cleanly
        }
        self.onEnd()
        self.ended.open()
    }

    func exchangeFailed(_ error: TransportError) {
        self.record.withLock { record in
            if record.isOver { record.violations.append("failed") }
            record.isOver = true
            record.error = error
        }
        self.ended.open()
    }
}

extension HTTPTransport {
    /// Starts a request on lane 0 and returns its exchange.
    func begin(
        _ url: HTTPURL,
        _ receiver: ExchangeRecorder,
        method: String = "GET",
        fields: HeaderFields = [:],
        body: [UInt8]? = nil,
        connectTimeout: Int64 = 30_000_000_000,
        readQuantum: Int? = nil,
        addresses: AddressRule? = nil
    ) async -> any Exchange {
        await withCheckedContinuation { continuation in
            self.execute(onLane: 0) {
                var request = ExchangeRequest(
                    method: method,
                    url: url,
                    fields: fields,
                    body: body,
                    connectTimeout: connectTimeout,
                    readQuantum: readQuantum
                )
                request.addresses = addresses
                continuation.resume(returning: self.start(request, onLane: 0, receiver: receiver))
            }
        }
    }

    /// Runs a request to its end.
    func get(
        _ url: HTTPURL,
        method: String = "GET",
        fields: HeaderFields = [:],
        body: [UInt8]? = nil,
        connectTimeout: Int64 = 30_000_000_000,
        addresses: AddressRule? = nil
    ) async -> ExchangeRecorder.Record {
        let receiver = ExchangeRecorder()
        _ = await self.begin(
            url,
            receiver,
            method: method,
            fields: fields,
            body: body,
            connectTimeout: connectTimeout,
            addresses: addresses
        )
        return await receiver.whole()
    }

    /// Runs a test with a transport of one lane and shuts it down after.
    static func with(
        _ configure: (inout Configuration) -> Void = { _ in },
        _ body: (HTTPTransport) async throws -> Void
    ) async throws {
        var configuration = Configuration()
        configuration.laneCount = 1
        configure(&configuration)
        let transport = try HTTPTransport(configuration: configuration)
        do {
            try await body(transport)
        } catch {
            await transport.shutdown()
            throw error
        }
        await transport.shutdown()
    }
}
