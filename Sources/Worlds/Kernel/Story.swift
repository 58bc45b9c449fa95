// SPDX-License-Identifier: Apache-2.0

/// Findings and traces as text for a person.
package enum Story {
    /// A finding with its ingredients, what happens, and the lines of a test.
    package static func text(_ finding: Finding) -> String {
        let omitted = finding.omitted.sorted().map(String.init).joined(separator: ",")
        var lines = finding.broken.map { "BROKEN: \($0)" }
        lines.append(
            "  again: martlet-simulate --kind \(finding.kind) --seed \(finding.seed) --worlds 1"
                + (omitted.isEmpty ? "" : " --without \(omitted)") + " --trace"
        )
        lines.append(
            "  as a test: #expect(Shrinker.live(\(self.typeName(finding.kind)).self, seed: \(finding.seed), without: ["
                + "\(finding.omitted.sorted().map(String.init).joined(separator: ", "))]).end.broken == [])"
        )
        lines += self.brief(finding.lines).map { "  " + self.text($0) }
        return lines.joined(separator: "\n")
    }

    private static func typeName(_ kind: String) -> String { kind.prefix(1).uppercased() + kind.dropFirst() + "World" }

    /// One line of a trace: milliseconds, who, and what.
    package static func text(_ line: Trace.Line) -> String {
        let (whole, part) = (line.time / 1_000_000, line.time / 1000 % 1000)
        let digits = String(part)
        let time = "\(whole).\(String(repeating: "0", count: 3 - digits.count))\(digits)"
        let space = String(repeating: " ", count: max(0, 12 - time.count))
        return "\(space)\(time) ms  \(line.who): \(line.what)"
    }

    /// A trace without what only repeats itself: the first and the last of progress and equal lines.
    private static func brief(_ lines: [Trace.Line]) -> [Trace.Line] {
        var result: [Trace.Line] = []
        for line in lines {
            let isProgress = line.what.hasPrefix("progress")
            if isProgress, result.last?.what.hasPrefix("progress") ?? false { result.removeLast() }
            result.append(line)
        }
        guard result.count > 60 else { return result }
        let gap = Trace.Line(time: result[40].time, who: "…", what: "\(result.count - 60) more lines: --trace")
        return Array(result[..<40]) + [gap] + Array(result[(result.count - 20)...])
    }
}
