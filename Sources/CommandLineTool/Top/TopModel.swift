// SPDX-License-Identifier: Apache-2.0
import Control

/// The state of `martlet top`: what it shows, and what it asks of the daemon.
///
/// Pure value: events go in, actions come out. It performs no I/O and reads no clock.
///
/// - Invariant: At most one ``TopAction/load(_:)`` and one ``TopAction/call(_:)`` are without their events.
struct TopModel {
    /// A text in the status line.
    struct Message: Equatable {
        var text: String
        var isError = false
        /// When it disappears, by the steady clock; an error stays until the next key.
        var end: Double?
    }

    /// A lost connection.
    struct Loss: Equatable {
        var error: ControlError
        /// When it was lost, seconds since 1970.
        var since: Double
    }

    /// The largest size that is drawn; a larger terminal is partly empty.
    static let largestSize = (columns: 1000, rows: 400)
    /// How long a message is shown, in seconds.
    static let messageTime = 6.0
    private static let sessionInterval = 10.0

    /// The size of the screen.
    private(set) var columns = 80
    private(set) var rows = 24
    /// The rows of the table.
    var window = TopWindow()
    /// Which transfers they are.
    var query = TopQuery()
    /// The marked transfers.
    var marks = TopMarks()
    /// The content of the body.
    var mode = TopMode.list
    /// The question, or the text being entered.
    var prompt: TopPrompt?
    /// The text in the status line.
    var message: Message?
    /// The number of transfers in each state.
    private(set) var counts = QueueCounts()
    /// The features of the daemon.
    private(set) var features = TopFeatures()
    /// The programs by session.
    private(set) var programs: [String: String] = [:]
    /// The total rates.
    private(set) var history = TopRateHistory()
    /// The lost connection; `nil` while there is one.
    private(set) var loss: Loss?
    /// The time of the last tick.
    private(set) var time: TopTime
    /// The time between two requests, in seconds.
    let interval: Double

    /// The request without an answer, and when it was sent.
    private(set) var loading: (request: TopRequest, since: Double)?
    /// Whether the rates are older than two seconds: the connection is lost, or the daemon does not answer.
    var isStale: Bool { self.loss != nil || self.loading.map { self.time.steady - $0.since >= 2 } ?? false }
    private var lastLoad: TopRequest?
    private var lastLoadTime: Double?
    private var lastDuration = 0.0
    private var wantsLoad = true
    private var sessionsRequested: Double?
    private var calls: [TopCall] = []
    /// When the current change was requested, by the steady clock; `nil` if there is none.
    private(set) var calling: Double?
    private var isQuitting = false
    private var effects: [TopAction] = []

    /// Creates the state at the start.
    init(interval: Double, time: TopTime) {
        self.interval = interval
        self.time = time
        self.window.resize(height: self.layout.body)
    }

    /// How the rows of the screen are used.
    var layout: TopLayout { TopLayout(rows: self.rows) }

    /// Takes an event and returns what is to be done.
    mutating func handle(_ event: TopEvent) -> [TopAction] {
        switch event {
        case .key(let key): self.pressed(key)
        case .resized(let columns, let rows):
            self.columns = columns.clamped(to: 0...Self.largestSize.columns)
            self.rows = rows.clamped(to: 0...Self.largestSize.rows)
            self.window.resize(height: self.layout.body)
            self.settleScroll()
            self.effects.append(.repaint)
        case .disturbed: self.effects.append(.repaint)
        case .loaded(let snapshot): self.loaded(snapshot)
        case .loadFailed(let error): self.loadFailed(error)
        case .called(let result): self.called(result)
        case .tick(let time): self.ticked(time)
        }
        self.addDueActions()
        defer { self.effects = [] }
        return self.effects
    }

    // MARK: For the handlers of keys

    /// Requests an action.
    mutating func perform(_ action: TopAction) { self.effects.append(action) }

    /// Quits when the requested changes have been performed, or at once when called again.
    mutating func quit() {
        if self.isQuitting || (self.calling == nil && self.calls.isEmpty) { return self.perform(.quit) }
        self.isQuitting = true
        self.say("waiting for the last change; q: quit at once")
    }

    /// Requests changes; they are performed one after another.
    mutating func call(_ calls: [TopCall]) {
        if self.calls.count < 1000 { self.calls += calls }
    }

    /// Shows a text for a while.
    mutating func say(_ text: String, isError: Bool = false) {
        self.message = Message(text: text, isError: isError, end: isError ? nil : self.time.steady + Self.messageTime)
    }

    /// Changes which transfers are listed.
    mutating func show(_ query: TopQuery) {
        guard query != self.query else { return }
        self.query = query
        self.window.clear()
    }

    // MARK: Events

    private mutating func loaded(_ snapshot: TopSnapshot) {
        self.loading = nil
        self.lastLoad = snapshot.request
        self.lastDuration = snapshot.seconds
        self.loss = nil
        self.counts = snapshot.counts
        self.features = snapshot.features
        self.history.add(snapshot.counts.rate, at: self.time.steady)
        if let programs = snapshot.sessions { self.programs = programs }
        self.marks.update(snapshot.records)
        if snapshot.request.query == self.query, snapshot.request.limit > 0 {
            self.window.loaded(
                snapshot.records,
                offset: snapshot.request.offset,
                limit: snapshot.request.limit,
                count: self.query.tab.count(snapshot.counts)
            )
        }
        if case .details(var details) = self.mode, snapshot.request.details == details.id {
            switch snapshot.details {
            case .success(let record)?: (details.record, details.problem) = (record, nil)
            case .failure(let error)?: details.problem = error.description
            case nil: break
            }
            self.mode = .details(details)
            self.settleScroll()
        }
        if case .limits(var page) = self.mode, let limits = snapshot.limits {
            page.limits = limits
            page.cursor = page.cursor.clamped(to: 0...(page.rows.count - 1))
            self.mode = .limits(page)
        }
    }

    private mutating func loadFailed(_ error: ControlError) {
        self.loading = nil
        self.loss = Loss(error: error, since: self.loss?.since ?? self.time.wall)
    }

    private mutating func called(_ result: Result<String, ControlError>) {
        self.calling = nil
        self.wantsLoad = true
        switch result {
        case .success(let text):
            if !text.isEmpty { self.say(text) }
            if self.isQuitting, self.calls.isEmpty { self.perform(.quit) }
        case .failure(let error):
            // The rest of a group would probably fail for the same reason.
            self.calls = []
            self.isQuitting = false
            self.say(error.description, isError: true)
        }
    }

    private mutating func ticked(_ time: TopTime) {
        self.time = time
        if let end = self.message?.end, time.steady >= end { self.message = nil }
        if let last = self.lastLoadTime, time.steady >= last, time.steady - last < self.pause { return }
        self.wantsLoad = true
    }

    /// The time between two requests; a lost daemon is looked for every second.
    ///
    /// A search through a long queue takes the daemon a while; it is not kept busy with it.
    private var pause: Double {
        if self.loss != nil { return min(self.interval, 1) * 0.95 }
        return max(self.interval * 0.95, self.lastDuration * 10)
    }

    // MARK: Actions

    /// The request for what is visible now.
    private var request: TopRequest {
        var request = TopRequest(query: self.query)
        (request.offset, request.limit) = self.window.wanted
        switch self.mode {
        case .details(let details): request.details = details.id
        case .limits: request.wantsLimits = true
        case .list, .help: break
        }
        let isUnknown = self.window.records.contains { $0.session.map { self.programs[$0] == nil } ?? false }
        request.wantsSessions =
            isUnknown && self.sessionsRequested.map { self.time.steady - $0 >= Self.sessionInterval } ?? true
        return request
    }

    private mutating func addDueActions() {
        if self.calling == nil, !self.calls.isEmpty {
            self.calling = self.time.steady
            self.effects.append(.call(self.calls.removeFirst()))
        }
        guard self.loading == nil else { return }
        let request = self.request
        // A change of what is visible is loaded at once, but not again and again if that does not make it visible.
        let isNews = self.loss == nil && !self.isCurrent(request) && request != self.lastLoad
        guard self.wantsLoad || isNews else { return }
        self.wantsLoad = false
        self.loading = (request, self.time.steady)
        self.lastLoadTime = self.time.steady
        if request.wantsSessions { self.sessionsRequested = self.time.steady }
        self.effects.append(.load(request))
    }

    /// Whether the last answer has everything that a request would load.
    private func isCurrent(_ request: TopRequest) -> Bool {
        guard let last = self.lastLoad else { return false }
        return last.query == request.query && last.details == request.details && last.wantsLimits == request.wantsLimits
            && !request.wantsSessions && self.window.isLoaded
    }

    /// Keeps scrolled pages within their lines.
    mutating func settleScroll() {
        switch self.mode {
        case .details(var details):
            let lines = details.lines(width: self.columns, now: self.time.wall).count
            details.scroll = details.scroll.clamped(to: 0...max(0, lines - self.layout.page))
            self.mode = .details(details)
        case .help(let scroll):
            let lines = TopKeys.help(width: self.columns).count
            self.mode = .help(scroll: scroll.clamped(to: 0...max(0, lines - self.layout.page)))
        case .list, .limits: break
        }
    }
}

extension TopLayout {
    /// The number of rows of a page without a heading.
    var page: Int { self.body + self.heading }
}
