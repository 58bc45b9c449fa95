// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore

extension ControlError {
    /// Translates an error of the store.
    init(_ error: QueueStoreError) {
        switch error.code {
        case .full:
            self.init(
                .diskFull,
                "the disk of the daemon's queue is full; nothing was changed",
                remedy: "free disk space; the queue continues automatically"
            )
        case .duplicate(let id): self.init(.duplicate, "the transfer \(id) already exists")
        case .notFound(let id): self.init(.notFound, "the transfer \(id) does not exist")
        case .wrongState(let id, let state):
            self.init(.wrongState, "the transfer \(id) is \(state.rawValue), which does not allow it")
        case .ambiguous:
            self.init(.ambiguous, "several transfers have this identifier prefix", remedy: "give more digits")
        case .closed: self.init(.stopping, "the daemon is stopping", remedy: "start it again")
        case .tooNew, .damaged, .busy, .inputOutput: self.init(.storage, error.message)
        }
    }
}
