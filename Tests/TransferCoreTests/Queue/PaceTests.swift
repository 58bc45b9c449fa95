// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("How often something may happen")
struct PaceTests {
    @Test("So often in a period and not more; then again")
    func limit() {
        var pace = Pace(limit: 2, period: 1000)
        let allowed = [0, 100, 200, 999, 1000, 1001, 1002, 5000].map { pace.allows(at: $0) }
        #expect(allowed == [true, true, false, false, true, true, false, true])
        #expect(pace.time(after: 5001) == 6000)
    }
}
