// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon

/// A request of a client of the daemon.
enum DaemonRequest {
    /// Adds transfers, at the end or at the beginning of the queue.
    case add([GID], isPaused: Bool, atFront: Bool, TransferOptions)
    /// Performs an action on transfers.
    case act(TransferAction, [GID])
    /// Performs an action on transfers of which the last has ended, so that it must be refused for all.
    case actWrongly(TransferAction, [GID])
    /// Performs an action on all transfers.
    case actOnAll(TransferAction)
    /// Moves a transfer in the queue.
    case move(GID, by: Int, from: MoveOrigin)
    /// Changes an option of a transfer.
    case option(GID, OptionName, String)
    /// Changes the number of transfers that run at once.
    case concurrent(Int)
    /// Changes the number of connections to a host.
    case hostLimit(Int)
    /// Sets the times at which transfers run; `nil` for always.
    case schedule(Schedule?)
    /// Makes everything durable.
    case save
    /// Lists all transfers.
    case list

    /// The request in a few words; transfers by their numbers.
    func text(_ number: (GID) -> Int) -> String {
        func names(_ ids: [GID]) -> String { ids.map { "\(number($0))" }.joined(separator: ", ") }
        return switch self {
        case .add(let ids, let isPaused, let atFront, _):
            "adds \(names(ids))\(isPaused ? " paused" : "")\(atFront ? " at the beginning" : "")"
        case .act(let action, let ids): "\(action.verb) \(names(ids))"
        case .actWrongly(let action, let ids): "\(action.verb) \(names(ids)), of which the last has ended"
        case .actOnAll(let action): "\(action.verb) everything"
        case .move(let id, let offset, let origin): "moves \(number(id)) by \(offset) from the \(origin)"
        case .option(let id, let name, let value): "sets \(name.rawValue) of \(number(id)) to '\(value)'"
        case .concurrent(let count): "lets \(count) transfers run"
        case .hostLimit(let count): "limits the host to \(count) connections"
        case .schedule(nil): "lets transfers run always"
        case .schedule(let schedule?):
            "lets transfers run from minute \(schedule.start) to \(schedule.end)"
                + (schedule.days.isEmpty ? "" : " on days \(schedule.days.sorted())")
        case .save: "saves"
        case .list: "lists"
        }
    }
}

extension TransferAction {
    var verb: String {
        switch self {
        case .pause: "pauses"
        case .resume: "resumes"
        case .retry: "retries"
        case .remove(let deletesPartial): deletesPartial ? "removes, with partial files," : "removes"
        case .forget: "forgets"
        case .setPriority(let priority): "sets the priority \(priority) of"
        }
    }
}
