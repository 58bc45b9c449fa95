/// Items of structured fields.
///
/// - Source: RFC 9651 §3.3.
package enum StructuredItem {
    /// Parses `?1` or `?0`; parameters are ignored.
    package static func boolean(_ field: String?) -> Bool? {
        switch self.bare(field) {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    /// Parses a non-negative whole number.
    package static func integer(_ field: String?) -> Int64? {
        self.bare(field).flatMap { DecimalNumber.parse($0.utf8) }
    }

    private static func bare(_ field: String?) -> String? {
        field.map { $0.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" } }
    }
}
