internal import Control
internal import TransferEngine

/// What is to be said to the daemon, in order, until it has answered.
///
/// Pure value. What was sent when a connection was lost is sent again: an `add` keeps its identifier, so that the daemon can
/// refuse to do it twice, and the others do no harm when repeated.
struct Outbox {
    /// One thing to be said.
    enum Command {
        /// A new transfer.
        case add(NewTransfer)
        /// Something about one transfer; a later one of the same kind takes its place while it waits.
        case change(TransferID, Kind, JSON)
        /// The session's configuration, changed.
        case configure(JSON)

        /// What is changed; pausing and resuming undo each other.
        enum Kind: Hashable {
            case running(String)
            case priority
            case options
            case removal

            /// The method that does it.
            var method: String {
                switch self {
                case .running(let method): method
                case .priority: "martlet.setPriority"
                case .options: "martlet.setOptions"
                case .removal: "martlet.remove"
                }
            }

            fileprivate var slot: Int {
                switch self {
                case .running: 0
                case .priority: 1
                case .options: 2
                case .removal: 3
                }
            }
        }
    }

    /// The most transfers in one `add`.
    static let batchLimit = 200

    private struct Key: Hashable {
        var id: TransferID
        var slot: Int
    }

    private var commands: [Command] = []
    /// How many of the commands were taken out before the first one that is here.
    private var offset = 0
    /// How many from the first on are being sent.
    private var inFlight = 0
    /// How many from the first on are to be sent alone, because the daemon refused them together.
    private var alone = 0
    private var places: [Key: Int] = [:]
    private var adds: [TransferID: Int] = [:]
    private var configurePlace: Int?

    /// Whether everything was answered.
    var isEmpty: Bool { self.commands.isEmpty }

    /// Puts a command in line.
    mutating func put(_ command: Command) {
        switch command {
        case .add(let transfer): if let id = transfer.id { self.adds[TransferID(id.rawValue), default: 0] += 1 }
        case .change(let id, let kind, _):
            let key = Key(id: id, slot: kind.slot)
            if let place = self.places[key], place - self.offset >= self.inFlight {
                self.commands[place - self.offset] = command
                return
            }
            self.places[key] = self.offset + self.commands.count
        case .configure:
            if let place = self.configurePlace, place - self.offset >= self.inFlight {
                self.commands[place - self.offset] = command
                return
            }
            self.configurePlace = self.offset + self.commands.count
        }
        self.commands.append(command)
    }

    /// What is to be sent next: one command, or several transfers to be added together.
    ///
    /// - Returns: `nil` where nothing waits, or the last one was not answered yet.
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

    /// What was sent was answered.
    mutating func answered() {
        for (index, command) in self.commands[..<self.inFlight].enumerated() {
            let place = self.offset + index
            switch command {
            case .add(let transfer): if let id = transfer.id { self.adds[TransferID(id.rawValue)] = nil }
            case .change(let id, let kind, _):
                let key = Key(id: id, slot: kind.slot)
                if self.places[key] == place { self.places[key] = nil }
            case .configure: if self.configurePlace == place { self.configurePlace = nil }
            }
        }
        self.commands.removeFirst(self.inFlight)
        self.offset += self.inFlight
        self.alone = max(0, self.alone - self.inFlight)
        self.inFlight = 0
    }

    /// Several transfers were refused together: each is sent alone, so that the one at fault is known.
    mutating func divide() {
        self.alone = max(self.alone, self.inFlight)
        self.inFlight = 0
    }

    /// The connection was lost: what was sent is sent again.
    mutating func lost() { self.inFlight = 0 }

    /// Whether something about a transfer waits to be said or answered.
    func concerns(_ id: TransferID) -> Bool {
        self.adds[id] != nil || self.places[Key(id: id, slot: 0)] != nil || self.places[Key(id: id, slot: 3)] != nil
    }

    /// Whether the daemon may not know of the transfer yet.
    func isAdding(_ id: TransferID) -> Bool { self.adds[id] != nil }
}
