// SPDX-License-Identifier: Apache-2.0
internal import Control

/// The plans of recently added transfers, so that options are parsed once.
///
/// Pure value, of bounded size. A plan is kept only when its transfer is stored, because an identifier may be that of
/// another transfer until then; and only if the settings from which it was made still apply.
struct PlanCache {
    /// The maximum number of plans.
    static let limit = 2048

    private var plans: [GID: RequestPlan] = [:]
    /// The number of changes of the settings.
    private(set) var generation = 0

    /// Whether there is room for another plan.
    var hasRoom: Bool { self.plans.count < Self.limit }

    /// Keeps a plan if there is room and it was made from the current settings.
    mutating func keep(_ plan: RequestPlan, of id: GID, madeIn generation: Int) {
        guard self.hasRoom, generation == self.generation else { return }
        self.plans[id] = plan
    }

    /// Removes and returns a transfer's plan.
    mutating func take(_ id: GID) -> RequestPlan? { self.plans.isEmpty ? nil : self.plans.removeValue(forKey: id) }

    /// Removes all plans, of earlier settings or of removed transfers.
    mutating func clear() {
        self.plans = [:]
        self.generation += 1
    }
}
