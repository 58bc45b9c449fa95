internal import Synchronization
internal import TransferCore

/// Limits the memory of listings that clients do not read.
final class ListingBudget: Sendable {
    /// The maximum number of bytes of pending listings; a single one may be larger.
    private static let most = 64 << 20

    private let bytes = Atomic<Int>(0)

    /// Charges a response to the budget until it is sent or dropped; returns a 503 if the budget is exhausted.
    func held(_ answer: Answer) -> Answer {
        let count = Int(answer.content.length)
        let before = self.bytes.add(count, ordering: .relaxed).oldValue
        let share = Share(count, of: self)
        guard before == 0 || before + count <= Self.most else {
            return .message(503, "too many listings are on their way; try again", ["Retry-After": "5"])
        }
        var answer = answer
        answer.whenSent = { _ in _ = share }
        return answer
    }

    /// Releases its bytes when the response that retains it is released.
    private final class Share: Sendable {
        private let count: Int
        private let budget: ListingBudget

        init(_ count: Int, of budget: ListingBudget) {
            self.count = count
            self.budget = budget
        }

        deinit { self.budget.bytes.subtract(self.count, ordering: .relaxed) }
    }
}
