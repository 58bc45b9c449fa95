// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
package import TransferCore
internal import TransferEngine

/// Ends a download whose response is not wanted, before its content is received.
///
/// One object per download, as its `policy`. The download ends as cancelled; ``refusal`` is the reason. The content itself is
/// examined by its receiver, with ``received(_:)``, and with ``SampleFilter/refusal(mediaType:length:head:)`` at the end.
package final class FilterPolicy: TransferPolicy {
    private let filter: SampleFilter
    private let found = Mutex<FilterRefusal?>(nil)

    /// Creates the policy of one download.
    package init(_ filter: SampleFilter) { self.filter = filter }

    /// Why the download was ended, or `nil` if it was not by this policy.
    package var refusal: FilterRefusal? { self.found.withLock { $0 } }

    /// Examines the number of bytes received so far; returns the failure that ends the download, or `nil`.
    package func received(_ count: Int64) -> TransferFailure? {
        guard let refusal = self.filter.refusal(received: count) else { return nil }
        self.note(refusal)
        return TransferFailure(.tooLarge, refusal.message)
    }

    package func fields(for request: RequestFacts) -> [(String, String)] { [] }

    package func received(_ head: ResponseHead, to request: RequestFacts) {}

    package func decide(
        _ question: PolicyQuestion,
        about request: RequestFacts,
        later: @escaping @Sendable (PolicyDecision) -> Void
    ) -> PolicyDecision? {
        guard case .response(let head, let length) = question,
            let refusal = self.filter.refusal(mediaType: head.fields["Content-Type"], length: length)
        else { return .proceed }
        self.note(refusal)
        return .cancel
    }

    /// The first reason counts.
    private func note(_ refusal: FilterRefusal) { self.found.withLock { $0 = $0 ?? refusal } }
}
