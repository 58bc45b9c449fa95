// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import Control

/// `martlet move`: changes a transfer's position in the queue.
struct MoveCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Change the position of a transfer in the queue.",
        discussion:
            "Positions count from 0, the front. The priority of waiting transfers also affects their order."
    )

    @Argument(
        help: ArgumentHelp("Id of the transfer, or a unique prefix.", valueName: "id"),
        completion: IDCompletion.kind
    )
    var id: String

    @Argument(
        help: ArgumentHelp("New position of the transfer.", valueName: "position"),
        transform: { try OptionSyntax.number(0...Int(Int32.max)).parsed($0) }
    )
    var position: Int?

    @Flag(help: "Where to move the transfer.")
    var place: Place?

    @OptionGroup(title: "Daemon")
    var daemon: DaemonOptions

    /// A relative position.
    enum Place: String, EnumerableFlag { case top, bottom, up, down }

    func execute(_ console: Console) async throws -> Int32 {
        let (offset, how): (Int, String)
        switch (self.position, self.place) {
        case (let position?, nil): (offset, how) = (position, "POS_SET")
        case (nil, .top): (offset, how) = (0, "POS_SET")
        case (nil, .bottom): (offset, how) = (0, "POS_END")
        case (nil, .up): (offset, how) = (-1, "POS_CUR")
        case (nil, .down): (offset, how) = (1, "POS_CUR")
        default: throw SyntaxError("give exactly one of a position, --top, --bottom, --up or --down")
        }
        let result = try await self.daemon.client()
            .call(
                "martlet.move",
                ["id": .string(self.id), "position": .integer(Int64(offset)), "how": .string(how)]
            )
        console.print("at position \(result["position"]?.integer ?? 0)")
        return ExitStatus.success
    }
}
