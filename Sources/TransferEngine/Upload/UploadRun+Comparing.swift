internal import Synchronization
internal import TransferCore

/// Seeing whether a name that is taken has the same content: then a PUT has nothing left to do (RFC 9110 §9.3.4).
///
/// So it is where the answer to an earlier request was lost, and where a list is sent once more.
extension UploadRun {
    /// Asks for the digest of what is there (RFC 9530 §4).
    static let comparison = UploadStep("HEAD", .endpoint, ["Want-Repr-Digest": "sha-256=10"])

    /// Whether the content can be compared with what is there.
    var mayCompare: Bool {
        guard self.request.method == "PUT", case .parts = self.request.content else { return false }
        return true
    }

    /// The answer to the question.
    func compared(_ attempt: UploadAttempt, _ head: ResponseHead, _ refusal: TransferFailure) -> ReadDecision {
        let length = self.state.withLock { $0.length }
        let digest = DigestFields.representation(head.fields).first { $0.algorithm == .sha256 }
        guard head.status == 200, let digest, head.fields["Content-Length"].flatMap({ Int64($0) }) == length else {
            return self.drain(attempt, head, then: .fail(refusal))
        }
        return self.drain(attempt, head, then: .match(digest, otherwise: refusal))
    }

    /// Compares the content with a digest, and ends the run.
    func match(_ digest: ExpectedDigest, otherwise refusal: TransferFailure) {
        guard let parts = self.state.withLock({ $0.parts }) else { return self.end(.failed(refusal), except: nil) }
        self.line.run {
            let own: [UInt8]?
            do throws(TransferFailure) {
                own = try self.digest(digest.algorithm, of: 0..<parts.length, in: parts)
            } catch {
                return self.end(.failed(error), except: nil)
            }
            guard own == digest.bytes else { return self.end(.failed(refusal), except: nil) }
            self.note("the server has exactly this already")
            self.finish(nil)
        }
    }
}
