// SPDX-License-Identifier: Apache-2.0
/// The appearance of a text on the terminal.
enum TopStyle: Sendable, CaseIterable {
    case plain, bold, dim, reverse, good, warning, bad, accent

    /// The parameter of SGR (ECMA-48 §8.3.117); without colour the meaning stays, in bold or not at all.
    func parameter(colour: Bool) -> String {
        switch self {
        case .plain: ""
        case .bold: "1"
        case .dim: "2"
        case .reverse: "7"
        case .good: colour ? "32" : ""
        case .warning: colour ? "33" : ""
        case .bad: colour ? "31" : "1"
        case .accent: colour ? "36" : ""
        }
    }
}
