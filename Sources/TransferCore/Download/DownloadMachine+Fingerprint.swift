// SPDX-License-Identifier: Apache-2.0
/// The state that decides what a machine does next, for exhaustive checks, which continue equal states only once.
extension DownloadMachine {
    /// Feeds the state into a hasher.
    ///
    /// Left out are the counters of bytes and names that only reports and limits of rates use, and all times: the
    /// caller's clock must stand still. The numbers of requests are replaced by their ranks.
    package func combine(into hasher: inout Hasher) {
        self.history.combine(into: &hasher)
        hasher.combine(self.name.target)
        hasher.combine(self.name.base)
        hasher.combine(self.name.isGivenByUser)
        hasher.combine(self.name.rule)
        hasher.combine(self.name.overwrites)
        hasher.combine(self.name.replaceable)
        hasher.combine(self.name.revalidates)
        hasher.combine(self.name.isDiverted)
        hasher.combine(self.requests.count)
        for request in self.requests { request.combine(into: &hasher) }
        hasher.combine(self.heldSlot)
        hasher.combine(self.hasSentUnrepeatable)
        hasher.combine(self.existing?.value.size)
        hasher.combine(self.pinned)
        hasher.combine(self.connections.fixed)
        hasher.combine(self.connections.advisor.wanted)
        hasher.combine(self.connections.mostOfMirrors)
        hasher.combine(self.connections.hasTaken)
        hasher.combine(self.connections.takeovers)
        hasher.combine(self.connections.dismissals)
        hasher.combine(self.older?.target)
        hasher.combine(self.older?.bytes)
        hasher.combine(self.older?.isApart)
        hasher.combine(self.holdsWrongBytes)
        hasher.combine(self.isNewerWrong)
        self.combinePhase(into: &hasher)
    }

    private func rank(_ number: DownloadAction.RequestNumber?) -> Int {
        number.flatMap { self.index(of: $0) } ?? -1
    }

    private func combinePhase(into hasher: inout Hasher) {
        switch self.phase {
        case .locating(let locating):
            hasher.combine(0)
            hasher.combine("\(locating)")
        case .opening(.awaiting): hasher.combine(1)
        case .opening(.naming(let pending)):
            hasher.combine(2)
            hasher.combine(self.rank(pending.request))
            hasher.combine(pending.length)
            hasher.combine(pending.part)
        case .opening(.creating(let accepted)):
            hasher.combine(3)
            hasher.combine(self.rank(accepted.request))
            hasher.combine(accepted.facts.value)
            hasher.combine(accepted.digests)
            hasher.combine(accepted.doesRanges)
            hasher.combine(accepted.verifiedLength)
            hasher.combine(accepted.target)
        case .small(let small):
            hasher.combine(4)
            hasher.combine(small.length)
            hasher.combine(small.received)
            hasher.combine(small.facts.value)
            hasher.combine(small.digests)
            hasher.combine(small.doesRanges)
            hasher.combine(small.verifiedLength)
        case .fetching(let fetching):
            hasher.combine(5)
            self.combine(fetching, into: &hasher)
        case .committing(let committing):
            hasher.combine(6)
            hasher.combine(committing.kind)
            hasher.combine(committing.length)
            hasher.combine(committing.facts?.value)
            hasher.combine(committing.digests)
            hasher.combine(committing.verifiedLength)
            hasher.combine(committing.interruption == nil)
        case .ended: hasher.combine(7)
        case .borrowed: hasher.combine(8)
        }
    }

    private func combine(_ fetching: Fetching, into hasher: inout Hasher) {
        switch fetching.held {
        case .partial: hasher.combine(0)
        case .stream: hasher.combine(1)
        case .existing(let existing): hasher.combine(existing.size)
        }
        hasher.combine(fetching.planner.length)
        hasher.combine(fetching.planner.completed)
        hasher.combine(fetching.beyond)
        for piece in fetching.planner.pieces {
            hasher.combine(piece.start)
            hasher.combine(piece.reserved)
            hasher.combine(piece.written)
            hasher.combine(piece.end)
            hasher.combine(self.rank(piece.owner))
        }
        hasher.combine(fetching.facts?.value)
        hasher.combine(fetching.recorded?.value)
        hasher.combine(fetching.digests)
        hasher.combine(fetching.doesRanges)
        hasher.combine(fetching.verifiedLength)
        hasher.combine(fetching.requestsWhole)
        hasher.combine(fetching.owesRestart)
        hasher.combine(fetching.probesEnd)
        hasher.combine(fetching.isForeign)
    }
}

extension DownloadHistory {
    /// Feeds everything that decides what the next run does into a hasher.
    package func combine(into hasher: inout Hasher) {
        hasher.combine(self.ranges.isProven)
        hasher.combine(self.ranges.isUnasked)
        hasher.combine(self.ranges.isRefused)
        hasher.combine(self.ranges.omitsIfRange)
        hasher.combine(self.ranges.wantsOverlap)
        hasher.combine(self.ranges.isRequired)
        hasher.combine(self.ranges.malformed)
        hasher.combine(self.sources.bad)
        hasher.combine(self.sources.proven)
        hasher.combine(self.sources.fallback)
        hasher.combine(self.sources.freshLinks)
        hasher.combine(self.sources.refreshes)
        hasher.combine(self.restarts)
        hasher.combine(self.takesSingleResponse)
        hasher.combine(self.target)
        hasher.combine(self.name)
        hasher.combine(self.baseName)
        hasher.combine(self.diversion?.directory)
        hasher.combine(self.diversion?.name)
        hasher.combine(self.diversion?.ifExists)
        hasher.combine(self.isResponseDecided)
        hasher.combine(self.mayBeProcessed)
        hasher.combine(self.stream.count)
        hasher.combine(self.stream.facts?.value)
        hasher.combine(self.stream.serverDigests)
    }
}

extension FetchRequest {
    fileprivate func combine(into hasher: inout Hasher) {
        hasher.combine(self.lane)
        hasher.combine(self.source)
        hasher.combine(self.flow)
        hasher.combine(self.purpose)
        hasher.combine(self.holdsSlot)
        hasher.combine(self.isAdditional)
        hasher.combine(self.isPinned)
        hasher.combine(self.range)
        hasher.combine(self.overlap)
        hasher.combine(self.sentIfRange)
        hasher.combine(self.isEndProbe)
        hasher.combine(self.isConditional)
        hasher.combine(self.hasCredentials)
        hasher.combine(self.isConnected)
        hasher.combine(self.hasHead)
        hasher.combine(self.isPaused)
        self.combineStage(into: &hasher)
        hasher.combine(self.basis)
        hasher.combine(self.facts?.value)
        hasher.combine(self.compared)
        hasher.combine(self.repeated)
        hasher.combine(self.responseEnd)
        hasher.combine(self.isPart)
        hasher.combine(self.partExpected)
        hasher.combine(self.partLength)
        hasher.combine(self.hasExtent)
        // Beyond a repetition it only matters whether there were any.
        hasher.combine(self.repeated > 0 ? self.bytes : min(self.bytes, 1))
    }

    private func combineStage(into hasher: inout Hasher) {
        switch self.stage {
        case .waiting: hasher.combine(0)
        case .comparing: hasher.combine(1)
        case .receiving: hasher.combine(2)
        case .deciding, .draining, .following, .refreshing:
            hasher.combine(3)
            hasher.combine("\(self.stage)")
        }
    }
}
