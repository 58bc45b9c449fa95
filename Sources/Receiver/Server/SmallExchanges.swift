/// Responds immediately; discards the request content.
final class ImmediateExchange: Exchange {
    private let answer: Answer

    init(_ answer: Answer) { self.answer = answer }

    func begin(_ connection: any ExchangeConnection) { connection.answer(self.answer) }
    func received(_ bytes: UnsafeRawBufferPointer) {}
    func ended() {}
    func lost() {}
}

/// Responds after blocking work, such as reading a directory or computing a digest.
final class BlockingExchange: Exchange {
    private let work: @Sendable () -> Answer

    init(_ work: @escaping @Sendable () -> Answer) { self.work = work }

    func begin(_ connection: any ExchangeConnection) {
        connection.blocking(self.work) { connection.answer($0) }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {}
    func ended() {}
    func lost() {}
}
