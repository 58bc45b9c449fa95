// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The response format that a client prefers.
///
/// - Source: RFC 9110 §12.5.1.
package enum AcceptedFormat: Hashable, Sendable {
    case html
    case json

    /// Returns the format with the higher weight, or `preferred` if the weights are equal.
    package static func choose(_ field: String?, preferring preferred: AcceptedFormat) -> AcceptedFormat {
        guard let field, !field.isEmpty else { return preferred }
        var best = (format: preferred, weight: 0)
        for format in [preferred, preferred == .html ? .json : .html] {
            let weight = self.weight(of: format, in: field)
            if weight > best.weight { best = (format, weight) }
        }
        return best.format
    }

    /// The weight of a format in thousandths: that of the most specific media range that matches it.
    private static func weight(of format: AcceptedFormat, in field: String) -> Int {
        var found = (precision: -1, weight: 0)
        for element in field.split(separator: ",") {
            let parts = element.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let range = parts.first else { continue }
            let precision: Int
            switch range {
            case format.mediaType: precision = 2
            case format.mediaType.prefix { $0 != "/" } + "/*": precision = 1
            case "*/*": precision = 0
            default: continue
            }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            let weight = quality.isFinite ? Int(min(1, max(0, quality)) * 1000) : 0
            if precision > found.precision { found = (precision, weight) }
        }
        return found.weight
    }

    /// The media type without parameters.
    package var mediaType: String {
        switch self {
        case .html: "text/html"
        case .json: "application/json"
        }
    }
}
