// SPDX-License-Identifier: Apache-2.0

/// A trace as a picture: a row for each actor, from left to right in the order of time, which is not to scale.
package enum Picture {
    private static let (left, right, top, row) = (90.0, 190.0, 44.0, 84.0)
    private static let width = 1000.0
    /// The most events with a text; others are dots.
    private static let mostTexts = 34

    /// Draws a trace as an SVG document.
    ///
    /// - Parameters:
    ///   - title: The line above the picture.
    ///   - lines: The trace.
    /// - Returns: The document.
    package static func svg(_ title: String, _ lines: [Trace.Line]) -> String {
        let events = lines.filter {
            ($0.who != "world" || $0.time > 0) && !$0.what.hasPrefix("progress") && $0.what != "drained"
        }
        var actors: [String] = []
        for event in events where !actors.contains(event.who) { actors.append(event.who) }
        let end = Double(max(1, events.last?.time ?? 1))
        let height = self.top + Double(actors.count) * self.row
        var parts = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(Int(self.width)) \(Int(height))\" font-family=\"sans-serif\">",
            "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>",
            "<text x=\"12\" y=\"26\" font-size=\"15\" font-weight=\"bold\">\(self.escaped(title))</text>",
        ]
        for (index, actor) in actors.enumerated() { parts += self.lane(actor, index) }
        // Events that are close to one another in time are spread, so that each can be told from the next.
        var places: [Double] = []
        for (index, event) in events.enumerated() {
            let byTime = Double(event.time) / end
            let byOrder = Double(index) / Double(max(1, events.count - 1))
            let x = self.left + (self.width - self.left - self.right) * (byTime + 3 * byOrder) / 4
            places.append(x)
        }
        var numbers: [String: Int] = [:]
        let stride = max(1, (events.count + self.mostTexts - 1) / self.mostTexts)
        for (index, event) in events.enumerated() {
            guard let lane = actors.firstIndex(of: event.who) else { continue }
            let isShown = index % stride == 0 || event.who == "user" || event.who == "world"
            let number = numbers[event.who, default: 0]
            numbers[event.who] = number + 1
            parts += self.mark(event, x: places[index], lane: lane, isShown: isShown, level: number % 4)
        }
        parts.append("</svg>")
        return parts.joined(separator: "\n") + "\n"
    }

    private static func lane(_ actor: String, _ index: Int) -> [String] {
        let y = Int(self.top + (Double(index) + 0.5) * self.row)
        return [
            "<line x1=\"\(Int(self.left))\" y1=\"\(y)\" x2=\"\(Int(self.width - self.right))\" y2=\"\(y)\" stroke=\"#ddd\"/>",
            "<text x=\"12\" y=\"\(y + 4)\" font-size=\"13\">\(self.escaped(actor))</text>",
        ]
    }

    private static func mark(_ event: Trace.Line, x: Double, lane: Int, isShown: Bool, level: Int) -> [String] {
        let y = self.top + (Double(lane) + 0.5) * self.row
        let isBad = ["kill", "power", "failed", "cut", "reset", "BROKEN"].contains { event.what.contains($0) }
        let isGood = event.what.hasPrefix("finished")
        let color = isBad ? "#c0392b" : isGood ? "#1e8449" : "#2c6fbb"
        var parts = ["<circle cx=\"\(Int(x))\" cy=\"\(Int(y))\" r=\"4\" fill=\"\(color)\"/>"]
        guard isShown else { return parts }
        let text = "\(event.time / 1_000_000) ms: \(event.what.prefix(40))"
        // Above and below the row in turn, so that neighbours do not cover each other.
        let offset = [-9.0, 18.0, -23.0, 32.0][level]
        // At the end of the picture, the text ends where it would begin elsewhere.
        let isLate = x > self.width - self.right - 5
        let place = isLate ? "x=\"\(Int(x) - 5)\" text-anchor=\"end\"" : "x=\"\(Int(x) + 5)\""
        parts.append(
            "<text \(place) y=\"\(Int(y + offset))\" font-size=\"9\" fill=\"\(color)\">\(self.escaped(String(text)))</text>"
        )
        return parts
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.append(character)
            }
        }
        return result
    }
}
