// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import TransferEngine

/// Removes stored responses when the response to an unsafe request shows that they are invalid.
final class InvalidatingReceiver: ConnectionReceiver {
    private let receiver: any ExchangeReceiver
    private let cache: ResponseCache
    private let url: HTTPURL

    init(_ receiver: any ExchangeReceiver, _ cache: ResponseCache, _ url: HTTPURL) {
        self.receiver = receiver
        self.cache = cache
        self.url = url
    }

    func exchangeUses(_ connection: ConnectionReport) {
        (self.receiver as? any ConnectionReceiver)?.exchangeUses(connection)
    }

    func exchangeConnected() { self.receiver.exchangeConnected() }

    func exchangeReceived(interim status: Int, fields: HeaderFields) {
        self.receiver.exchangeReceived(interim: status, fields: fields)
    }

    func exchangeReceived(head: ResponseHead) -> ReadDecision {
        if (200..<400).contains(head.status) { self.cache.invalidate(self.url, head) }
        return self.receiver.exchangeReceived(head: head)
    }

    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision { self.receiver.exchangeReceived(body: body) }

    func exchangeEnded(trailers: HeaderFields, cleanly: Bool) {
        self.receiver.exchangeEnded(trailers: trailers, cleanly: cleanly)
    }

    func exchangeFailed(_ error: TransportError) { self.receiver.exchangeFailed(error) }
}
