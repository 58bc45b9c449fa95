// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control
internal import TransferEngine

/// The commands for the daemon, in order, until it has responded to them.
///
/// Pure value. Commands that were in flight when a connection was lost are sent again: an `add` keeps its identifier,
/// so that the daemon refuses a duplicate, and the others are idempotent.
struct Outbox {
    /// One command.
    enum Command {
        case add(NewTransfer)
        /// A change of one transfer; a later one of the same kind replaces it while it waits.
        case change(TransferID, Kind, JSON)
        /// A change of the session's configuration.
        case configure(JSON)
        /// The program has handled a batch of events.
        case finishEvents(JSON)

        /// What changes; pausing and resuming replace each other.
        enum Kind: Hashable {
            case running(String)
            case priority
            case options
            /// The option that has the session's own data, apart from the program's options.
            case info
            case removal

            /// The RPC method.
            var method: String {
                switch self {
                case .running(let method): method
                case .priority: "martlet.setPriority"
                case .options, .info: "martlet.setOptions"
                case .removal: "martlet.remove"
                }
            }

            fileprivate var slot: Int {
                switch self {
                case .running: 0
                case .priority: 1
                case .options: 2
                case .removal: 3
                case .info: 4
                }
            }
        }
    }

    /// Returns the form of a command in the session's spool.
    static func spooled(_ command: Command, number: Int64) -> SpooledCall {
        switch command {
        case .add(let transfer):
            SpooledCall(
                number: number,
                key: "add \(transfer.id.map { TransferID($0.rawValue).description } ?? "")",
                method: "martlet.add",
                parameters: ["entries": [transfer.json]]
            )
        // In place of the addition: for a daemon that has performed it but not responded.
        case .change(let id, .removal, let parameters):
            SpooledCall(number: number, key: "add \(id)", method: "martlet.remove", parameters: parameters)
        case .change(let id, let kind, let parameters):
            SpooledCall(number: number, key: "\(kind.slot) \(id)", method: kind.method, parameters: parameters)
        case .configure(let parameters):
            SpooledCall(number: number, key: "configure", method: "martlet.openSession", parameters: parameters)
        case .finishEvents(let parameters):
            SpooledCall(number: number, key: "events", method: "martlet.finishEvents", parameters: parameters)
        }
    }

    /// The maximum number of transfers in one `add`.
    static let batchLimit = 200

    /// Identifies the setting of a command: a later command with the same key replaces it.
    private enum Key: Hashable {
        case transfer(TransferID, slot: Int)
        case configuration
        case events
    }

    private var commands: [Command] = []
    /// The commands' numbers in the session's spool, in the order of ``commands``.
    private var numbers: [Int64] = []
    private var lastNumber: Int64 = 0
    /// The number of commands removed from the front so far.
    private var offset = 0
    /// The number of commands in flight, from the first on.
    private var inFlight = 0
    /// The number of commands, from the first on, to be sent one by one because the daemon refused them together.
    private var alone = 0
    private var places: [Key: Int] = [:]
    private var adds: [TransferID: Int] = [:]

    /// Whether the daemon has responded to all commands.
    var isEmpty: Bool { self.commands.isEmpty }

    /// The number of the next command to be added, from 1.
    var nextNumber: Int64 { self.lastNumber + 1 }
    /// The number of commands added so far, without those that replaced others.
    var end: Int { self.offset + self.commands.count }
    /// The number of commands, from the first one on, to which the daemon has responded.
    var done: Int { self.offset }

    /// Appends a command, or replaces a waiting one.
    mutating func put(_ command: Command) {
        self.lastNumber += 1
        if case .add(let transfer) = command, let id = transfer.id {
            self.adds[TransferID(id.rawValue), default: 0] += 1
        }
        if let key = Self.key(command) {
            if let place = self.places[key], place - self.offset >= self.inFlight {
                self.commands[place - self.offset] = command
                self.numbers[place - self.offset] = self.lastNumber
                return
            }
            self.places[key] = self.offset + self.commands.count
        }
        self.commands.append(command)
        self.numbers.append(self.lastNumber)
    }

    private static func key(_ command: Command) -> Key? {
        switch command {
        case .add: nil
        case .change(let id, let kind, _): .transfer(id, slot: kind.slot)
        case .configure: .configuration
        case .finishEvents: .events
        }
    }

    /// Takes the next commands to send: one command, or several transfers to be added together.
    ///
    /// - Returns: `nil` if no command waits, or if the last one is still in flight.
    mutating func next() -> [Command]? {
        guard self.inFlight == 0, let first = self.commands.first else { return nil }
        self.inFlight = 1
        if case .add = first, self.alone == 0 {
            while self.inFlight < min(self.commands.count, Self.batchLimit),
                case .add = self.commands[self.inFlight]
            {
                self.inFlight += 1
            }
        }
        return Array(self.commands[..<self.inFlight])
    }

    /// Removes the commands in flight after the daemon's response.
    ///
    /// - Returns: Their numbers.
    @discardableResult
    mutating func answered() -> [Int64] {
        let answered = Array(self.numbers[..<self.inFlight])
        for (index, command) in self.commands[..<self.inFlight].enumerated() {
            let place = self.offset + index
            if case .add(let transfer) = command, let id = transfer.id { self.adds[TransferID(id.rawValue)] = nil }
            if let key = Self.key(command), self.places[key] == place { self.places[key] = nil }
        }
        self.commands.removeFirst(self.inFlight)
        self.numbers.removeFirst(self.inFlight)
        self.offset += self.inFlight
        self.alone = max(0, self.alone - self.inFlight)
        self.inFlight = 0
        return answered
    }

    /// Schedules transfers that were refused together to be sent one by one, so that each gets its own response.
    mutating func divide() {
        self.alone = max(self.alone, self.inFlight)
        self.inFlight = 0
    }

    /// Schedules the commands in flight to be sent again after a lost connection.
    mutating func lost() { self.inFlight = 0 }

    /// Whether an addition, a pause, a resumption or a removal of a transfer is waiting or in flight.
    func concerns(_ id: TransferID) -> Bool {
        self.adds[id] != nil || self.places[.transfer(id, slot: 0)] != nil
            || self.places[.transfer(id, slot: 3)] != nil
    }

    /// Whether the daemon may not know of the transfer yet.
    func isAdding(_ id: TransferID) -> Bool { self.adds[id] != nil }
}
