import ArgumentParser
import Control

/// `martlet pause`: pauses transfers.
struct PauseCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause transfers of the daemon's queue; they keep what they have."
    )

    @OptionGroup var selection: SelectionOptions

    func execute(_ console: Console) async throws -> Int32 {
        try await self.selection.perform("martlet.pause", "paused", console)
    }
}

/// `martlet resume`: resumes paused transfers.
struct ResumeCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Put paused transfers in line again, at their old place.",
        discussion: "One that waits for an unreachable host is tried at once, with all others of its host."
    )

    @OptionGroup var selection: SelectionOptions

    func execute(_ console: Console) async throws -> Int32 {
        try await self.selection.perform("martlet.resume", "resumed", console)
    }
}

/// `martlet retry`: queues failed or removed transfers again.
struct RetryCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Put failed or removed transfers in line again; they keep what they have.",
        discussion: "One that waits for an unreachable host is tried at once, with all others of its host."
    )

    @OptionGroup var selection: SelectionOptions

    func execute(_ console: Console) async throws -> Int32 {
        try await self.selection.perform("martlet.retry", "in line again", console)
    }
}

/// `martlet remove`: ends transfers without completing them.
struct RemoveCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "End transfers that have not ended, without their files."
    )

    @Flag(help: "Delete what arrived of them; of an upload, what its server has.")
    var deletePartial = false

    @OptionGroup var selection: SelectionOptions

    func execute(_ console: Console) async throws -> Int32 {
        let more: [JSON.Member] = self.deletePartial ? [.init("deletePartial", true)] : []
        return try await self.selection.perform("martlet.remove", "removed", console, more)
    }
}

/// `martlet forget`: removes ended transfers from the history.
struct ForgetCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Take transfers that have ended out of the history; their files stay."
    )

    @OptionGroup var selection: SelectionOptions

    func execute(_ console: Console) async throws -> Int32 {
        try await self.selection.perform("martlet.forget", "forgotten", console)
    }
}
