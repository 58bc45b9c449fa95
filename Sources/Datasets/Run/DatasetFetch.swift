// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import Synchronization
package import TransferCore
internal import TransferEngine

/// One row that is being fetched: it collects the facts for the row's report line.
///
/// It is the user info and the policy of the row's download.
package final class DatasetFetch: TransferPolicy {
    package let row: DatasetRow
    /// The receiver of the content, or `nil` if it is received into a file.
    let receiver: ContentReceiver?
    private let filter: FilterPolicy
    private let facts = Mutex(DatasetResult())

    init(_ row: DatasetRow, storage: ContentStorage?, filter: SampleFilter) {
        self.row = row
        self.filter = FilterPolicy(filter)
        self.receiver = storage.map { [filter = self.filter] in ContentReceiver($0, filter) }
    }

    /// The failure of a content that the filter refuses, or `nil`.
    var refusal: DatasetResult.Failure? { self.filter.refusal.map { DatasetResult.Failure($0) } }

    /// A run of the download started.
    func started(at now: Int64) {
        self.facts.withLock { facts in
            facts.attempts += 1
            facts.started = facts.started ?? now
        }
    }

    /// The facts so far, as those of a row that failed.
    func failed(_ failure: DatasetResult.Failure, at now: Int64) -> DatasetResult {
        var result = self.facts.withLock { $0 }
        result.failure = failure
        result.ended = now
        return result
    }

    /// The facts of a row that is done.
    func finished(_ completion: TransferCompletion, at now: Int64) -> DatasetResult {
        var result = self.facts.withLock { $0 }
        if completion.skipped, result.status == nil { result.attempts = 0 }
        if completion.isUnexamined {
            // The file is of an earlier run. What was received meanwhile was about the file of another name.
            (result.finalURL, result.status, result.etag, result.lastModified) = (nil, nil, nil, nil)
        }
        result.bytes = completion.bytes
        result.digest = completion.digest
        result.ended = now
        return result
    }

    // MARK: The policy of the download

    /// The credentials of the table's URL: without a policy, the engine sends them.
    package func fields(for request: RequestFacts) -> [(String, String)] {
        guard request.url.origin == request.source.origin,
            let authorization = RequestFields.basicAuthorization(request.source)
        else { return [] }
        return [("Authorization", authorization)]
    }

    package func received(_ head: ResponseHead, to request: RequestFacts) {
        let url = request.url.withoutUserInfo
        let isTable = url == self.row.url
        let (etag, modified) = (head.fields["ETag"], head.fields["Last-Modified"])
        let type = head.fields["Content-Type"]
        self.facts.withLock { facts in
            facts.finalURL = isTable ? self.row.url : url
            facts.status = head.status
            facts.etag = etag
            facts.lastModified = modified
            facts.mediaType = type
        }
    }

    package func decide(
        _ question: PolicyQuestion,
        about request: RequestFacts,
        later: @escaping @Sendable (PolicyDecision) -> Void
    ) -> PolicyDecision? {
        self.filter.decide(question, about: request, later: later)
    }
}

extension DatasetResult.Failure {
    /// The failure of a content that a filter refuses.
    init(_ refusal: FilterRefusal) {
        self.init(code: refusal.code.rawValue, message: refusal.message, isRetryable: false)
    }
}
