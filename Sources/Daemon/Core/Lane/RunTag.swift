// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Martlet

/// The user information of an engine's transfer, which links its events to the stored transfer.
struct RunTag: Sendable {
    var id: GID
    var policy: SessionPolicy?
    /// The response body of a session's upload.
    var answer: AnswerBuffer?
}
