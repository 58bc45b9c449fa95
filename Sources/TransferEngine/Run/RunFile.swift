// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The file that a run of a download has open.
enum RunFile: Sendable {
    case none
    case small(any SmallFile)
    case partial(any PartialFile)

    /// Closes the file as the run's end requires, and keeps only one partial file of the two that may exist; blocks.
    func close(_ ending: DownloadEnding, in store: any FileStore) {
        switch (ending.file, self) {
        case (.none, _): break
        case (.discardEarlier(let target), _): try? store.discardPartial(target)
        case (.keepSmall(let target, let facts, let received), .small(let small)):
            Self.keep(small, target, facts, received, in: store)
            small.discard()
        case (_, .small(let small)): small.discard()
        case (.keep, .partial(let partial)):
            if ending.outcome.isEnd { partial.releaseReserve() }
            partial.keep()
            Self.settle(ending, in: store)
        case (.setAside, .partial(let partial)):
            partial.setAside()
            Self.settle(ending, in: store)
        case (.discard, .partial(let partial)):
            partial.discard()
            Self.settle(ending, in: store)
        case (.keepSmall, .partial(let partial)): partial.keep()
        case (.keep, .none), (.discard, .none), (.setAside, .none), (.keepSmall, .none): break
        }
    }

    /// Stores the received bytes of a small file as a partial file, so that the next run continues it.
    ///
    /// A failure loses these bytes only.
    private static func keep(
        _ small: any SmallFile,
        _ target: FileTarget,
        _ facts: ResourceFacts,
        _ received: Int64,
        in store: any FileStore
    ) {
        guard let bytes = try? small.read(0..<received),
            let partial = try? store.createPartial(target, facts: facts)
        else { return }
        guard let extent = partial.beginExtent(at: 0),
            (try? bytes.withUnsafeBytes { try partial.write($0, extent: extent) }) != nil
        else { return partial.discard() }
        partial.endExtent(extent)
        partial.keep()
    }

    /// Keeps the second partial file that a killed run has left, if it has more bytes than the older one.
    ///
    /// A failure loses these bytes only.
    static func keepLonger(_ target: FileTarget, in store: any FileStore) {
        let newer = OlderPartial.beside(target)
        guard case .ours(_, let more)? = (try? store.survey(newer))?.partial, more > 0,
            case .ours(_, let written)? = (try? store.survey(target))?.partial, more > written
        else { return }
        try? store.movePartial(newer, to: target)
    }

    /// Keeps the longer of two partial files, both of them closed.
    private static func settle(_ ending: DownloadEnding, in store: any FileStore) {
        guard let older = ending.older else { return }
        let isCancelled = if case .cancelled(keeping: false) = ending.outcome { true } else { false }
        if isCancelled { try? store.discardPartial(older.target) }
        if older.isApart { return }
        if !isCancelled, ending.newerIsLonger {
            try? store.movePartial(older.newer, to: older.target)
        } else {
            try? store.discardPartial(older.newer)
        }
    }
}
