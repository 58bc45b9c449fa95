// SPDX-License-Identifier: Apache-2.0
import Testing
import Worlds

@Suite("Every sequence of responses")
struct ExhaustiveTests {
    /// Connections, growth of the second version, whether the file is small, and the number of responses.
    private static let searches: [(Int, Int64, Bool, Int)] = [
        (1, 0, false, 2), (1, 1, false, 2), (1, 0, true, 2), (2, 0, false, 1),
    ]

    @Test("no file is mixed, no byte is lost, and every transfer ends", arguments: Self.searches.indices)
    func search(index: Int) {
        let (connections, growth, isSmall, depth) = Self.searches[index]
        var search = ExhaustiveSearch(connections: connections, growth: growth, isSmall: isSmall, isWide: true)
        let isDone = search.run(depth: depth)
        #expect(isDone)
        for finding in search.findings {
            Issue.record("\(finding.promise)\n\(finding.story.joined(separator: "\n"))")
        }
        // It would prove nothing if hardly anything were reached.
        #expect(search.levels.reduce(0) { $0 + $1.states } > 50)
        #expect(search.alphabet == 57)
    }
}
