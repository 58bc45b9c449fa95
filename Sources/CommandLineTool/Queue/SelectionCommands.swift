// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import TransferEngine
import Control

/// `martlet pause`: pauses transfers.
struct PauseCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause transfers in the daemon's queue; received data is kept."
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
        abstract: "Resume paused transfers at their previous queue positions.",
        discussion: "Transfers waiting for an unreachable host are retried immediately, with all others of the host."
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
        abstract: "Queue failed or removed transfers again; received data is kept.",
        discussion: "Transfers waiting for an unreachable host are retried immediately, with all others of the host."
    )

    @OptionGroup var selection: SelectionOptions

    func execute(_ console: Console) async throws -> Int32 {
        try await self.selection.perform("martlet.retry", "queued again", console)
    }
}

/// `martlet remove`: ends transfers without completing them.
struct RemoveCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Cancel transfers that have not ended."
    )

    @Flag(.deletePartial) var deletePartial = false

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
        abstract: "Remove ended transfers from the history; their files are kept."
    )

    @OptionGroup var selection: SelectionOptions

    func execute(_ console: Console) async throws -> Int32 {
        try await self.selection.perform("martlet.forget", "forgotten", console)
    }
}
