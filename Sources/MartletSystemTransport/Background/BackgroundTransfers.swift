// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import TransferCore
internal import TransferEngine

/// The exchanges of a background session: performs what its ledger decides.
///
/// One for each identifier and process, because the system allows one session for each.
///
/// `@unchecked Sendable`: the variables are used on the lane only, but those that the initializer sets.
final class BackgroundTransfers: BackgroundTasksReceiver, @unchecked Sendable {
    let lane: SystemLane
    private let shelf: ResponseShelf
    private let wake: @Sendable (_ takes: Bool) -> Bool
    private var tasks: (any BackgroundTasks)?
    private var ledger: BackgroundLedger
    private var exchanges: [Int: ShelvedExchange] = [:]
    private var lastNumber = 0

    /// Opens the shelf; ``open(_:)`` opens the session.
    ///
    /// - Parameters:
    ///   - directory: The directory of the shelf.
    ///   - lane: The lane.
    ///   - unclaimedLimit: The number of responses that are kept although nothing requests them.
    ///   - wake: Returns whether the system waits until its events were handled; with `true` it calls the system's
    ///     handlers.
    init(
        directory: URL,
        on lane: SystemLane,
        unclaimedLimit: Int,
        wake: @escaping @Sendable (_ takes: Bool) -> Bool
    ) {
        self.lane = lane
        self.wake = wake
        self.shelf = ResponseShelf(directory)
        self.ledger = BackgroundLedger(
            stored: self.shelf.responses.mapValues { ($0.key, $0.facts) },
            resumable: self.shelf.resumable,
            unclaimedLimit: unclaimedLimit
        )
    }

    /// Opens the session.
    func open(_ make: @escaping @Sendable (BackgroundTransfers) -> any BackgroundTasks) {
        self.lane.execute {
            let tasks = make(self)
            self.tasks = tasks
            tasks.list { listed in
                self.lane.execute {
                    let known = listed.compactMap { task in
                        TaskDescription(text: task.description).map { (task: task.number, key: $0.key) }
                    }
                    self.expire()
                    self.perform(self.ledger.restored(known))
                }
            }
        }
    }

    // MARK: Exchanges

    /// Starts an exchange; the caller is on the lane.
    func start(_ request: ExchangeRequest, for owner: AnyObject, receiver: any ExchangeReceiver) -> any Exchange {
        self.lastNumber += 1
        let exchange = ShelvedExchange(
            self.lastNumber,
            request,
            on: self.lane,
            owner: ObjectIdentifier(owner),
            receiver: receiver
        ) { [weak self] in self?.ended($0, isUsedUp: $1) }
        self.exchanges[exchange.number] = exchange
        // The receiver is not called before this returns.
        self.lane.later {
            guard self.exchanges[exchange.number] != nil else { return }
            self.expire()
            self.perform(self.ledger.requested(exchange.number, exchange.key))
        }
        return exchange
    }

    /// The time for which a response waits for its request, in seconds: beyond it, the server may have another one.
    private static let patience: Int64 = 7 * 86_400

    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970) }

    private func expire() { self.perform(self.ledger.expired(before: Self.now - Self.patience)) }

    private func ended(_ exchange: ShelvedExchange, isUsedUp: Bool) {
        // Without an entry, the ledger has ended it.
        guard self.exchanges.removeValue(forKey: exchange.number) != nil else { return }
        self.perform(
            isUsedUp ? self.ledger.consumed(exchange.number) : self.ledger.cancelled(exchange.number)
        )
    }

    /// Fails the exchanges of a transport that ends; their tasks continue.
    func detach(from owner: AnyObject) {
        let leaving = self.exchanges.values.filter { $0.owner == ObjectIdentifier(owner) }
        for exchange in leaving.sorted(by: { $0.number < $1.number }) {
            self.exchanges[exchange.number] = nil
            self.perform(self.ledger.abandoned(exchange.number))
            exchange.fail(TransportError(.cancelled, "the transport was shut down; the system continues the download"))
        }
    }

    // MARK: Tasks

    func finished(_ task: Int, description: String?, _ head: ReportedHead, from url: String, file: URL) {
        guard let known = TaskDescription(text: description) else { return }
        let key = known.key
        let failure: TransportError
        do {
            let size = try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
            let response = try ShelvedResponse(head, to: known, from: url, length: Int64(size), time: Self.now)
            let number = try self.shelf.store(response, body: file)
            return self.perform(self.ledger.finished(task, key, number, response.facts))
        } catch let error as TransportError {
            failure = error
        } catch {
            failure = TransportError(.localResource, "a received file cannot be kept: \(error.localizedDescription)")
        }
        self.perform(self.ledger.failed(task, key, BackgroundFailure(failure), resume: nil))
    }

    func failed(_ task: Int, description: String?, _ error: any Error, _ resumption: SystemResumption?) {
        guard let key = TaskDescription(text: description)?.key, let url = try? HTTPURL(key.url) else { return }
        let failure = TransportError(error, from: url.origin, hasHead: resumption != nil)
        let file = resumption.flatMap { self.shelf.store($0, key) }
        self.perform(self.ledger.failed(task, key, BackgroundFailure(failure), resume: file))
    }

    func eventsReported() { self.perform(self.ledger.eventsReported(hasHandlers: self.wake(false))) }

    // MARK: Performing

    private func perform(_ actions: [BackgroundLedger.Action]) {
        for action in actions {
            switch action {
            case .begin(let number, let key, let file): self.begin(number, key, file)
            case .cancel(let task): self.cancel(task)
            case .deliver(let file, let number): self.deliver(file, number)
            case .fail(let number, let failure): self.exchanges.removeValue(forKey: number)?.fail(failure.error)
            case .discard(let file): self.shelf.remove(file)
            case .callWakeHandlers: _ = self.wake(true)
            }
        }
    }

    private func begin(_ number: Int, _ key: BackgroundKey, _ file: Int?) {
        guard let exchange = self.exchanges[number], let tasks = self.tasks else { return }
        do {
            let request = try URLRequest(exchange.request)
            let resumption = file.flatMap { self.shelf.takeResumption($0) }
            let description = TaskDescription(key, resumedTag: resumption?.tag)
            let task = tasks.begin(request, description: description.text, resuming: resumption)
            self.ledger.began(number, key, task)
        } catch {
            self.exchanges[number] = nil
            exchange.fail(error)
        }
    }

    private func cancel(_ task: Int) {
        guard let tasks = self.tasks else { return }
        tasks.cancel(task) { resumption in
            self.lane.execute {
                // The task's key is the ledger's: the file is stored under it.
                guard let key = self.ledger.key(of: task) else { return }
                let file = resumption.flatMap { self.shelf.store($0, key) }
                self.perform(self.ledger.wasCancelled(task, resume: file))
            }
        }
    }

    private func deliver(_ file: Int, _ number: Int) {
        guard let exchange = self.exchanges[number] else { return }
        guard let response = self.shelf.responses[file], let body = try? self.shelf.open(file) else {
            self.exchanges[number] = nil
            self.perform(self.ledger.consumed(number))
            return exchange.fail(TransportError(.localResource, "a received file has disappeared from the shelf"))
        }
        exchange.deliver(response, body)
    }
}
