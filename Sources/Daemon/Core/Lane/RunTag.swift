internal import Control
internal import Martlet

/// Leads from an engine's event to the transfer.
struct RunTag: Sendable {
    var id: GID
    var policy: SessionPolicy?
    /// Of an upload in a session: where its answer's body is.
    var answer: AnswerBuffer?
}
