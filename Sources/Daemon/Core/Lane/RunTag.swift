internal import Control
internal import Martlet

/// Leads from an engine's event to the transfer and to the staging that it is about.
struct RunTag: Sendable {
    var id: GID
    var run: UInt64
    var policy: SessionPolicy?
    /// Of an upload in a session: where its answer's body is.
    var answer: AnswerBuffer?
}
