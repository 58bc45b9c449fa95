internal import Control
internal import QueueStore

extension ControlError {
    /// Translates an error of the store.
    init(_ error: QueueStoreError) {
        switch error.code {
        case .full:
            self.init(
                .diskFull,
                "the disk under the daemon's queue is full; nothing was changed",
                remedy: "make room; the queue goes on by itself"
            )
        case .duplicate(let id): self.init(.duplicate, "there is a transfer \(id) already")
        case .notFound(let id): self.init(.notFound, "there is no transfer \(id)")
        case .wrongState(let id, let state):
            self.init(.wrongState, "the transfer \(id) is \(state.rawValue), which does not allow it")
        case .ambiguous:
            self.init(.ambiguous, "several transfers have an identifier that begins so", remedy: "give more digits")
        case .closed: self.init(.stopping, "the daemon is stopping", remedy: "start it again")
        case .tooNew, .damaged, .busy, .inputOutput: self.init(.storage, error.message)
        }
    }
}
