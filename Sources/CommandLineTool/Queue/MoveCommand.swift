import ArgumentParser
import Control

/// `martlet move`: changes a transfer's position in the queue.
struct MoveCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Move a transfer in the line.",
        discussion:
            "A position is counted from 0, the front. Which of those that wait goes first is told by --priority, too."
    )

    @Argument(help: ArgumentHelp("The transfer's id, or a unique beginning of it.", valueName: "id"))
    var id: String

    @Argument(
        help: ArgumentHelp("Its new position.", valueName: "position"),
        transform: { try WholeNumber.parse($0, in: 0...Int(Int32.max)) }
    )
    var position: Int?

    @Flag(help: "Where it goes.")
    var place: Place?

    @OptionGroup(title: "The daemon")
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
        default: throw BadValue("write one place: a position, --top, --bottom, --up or --down")
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
