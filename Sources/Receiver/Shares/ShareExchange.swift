/// Sends a shared file and reports the end of the response to the table.
final class ShareExchange: Exchange {
    private let table: ShareTable
    private let answer: Answer
    private let token: String?

    init(_ table: ShareTable, _ answer: Answer, token: String?) {
        self.table = table
        self.answer = answer
        self.token = token
    }

    func begin(_ connection: any ExchangeConnection) {
        let table = self.table
        guard let token = self.token else {
            connection.answer(self.answer)
            return
        }
        var answer = self.answer
        answer.mustArrive = true
        answer.whenSent = { table.ended(token, arrived: $0) }
        connection.answer(answer)
    }

    func received(_ bytes: UnsafeRawBufferPointer) {}
    func ended() {}
    func lost() {}
}
