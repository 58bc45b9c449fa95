/// Items of structured fields.
///
/// - Source: RFC 9651 §3.3.
package enum StructuredItem {
    /// `?1` or `?0`; parameters are left aside.
    package static func boolean(_ field: String?) -> Bool? {
        switch self.bare(field) {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    /// A whole number that is not negative.
    package static func integer(_ field: String?) -> Int64? {
        self.bare(field).flatMap { DecimalNumber.parse($0.utf8) }
    }

    private static func bare(_ field: String?) -> String? {
        field.map { $0.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" } }
    }
}
