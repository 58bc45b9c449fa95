// SPDX-License-Identifier: Apache-2.0
/// Composes the `Cookie` field of a request.
///
/// - Source: RFC 6265bis §5.8.3.
package enum CookieField {
    /// The cookies of a jar, followed by those that the user gave and the jar does not have.
    ///
    /// A cookie that a server has set replaces the user's of the same name.
    ///
    /// - Parameters:
    ///   - stored: The field of the jar's cookies.
    ///   - given: The user's field, or `nil`.
    /// - Returns: The field.
    package static func merging(_ stored: String, given: String?) -> String {
        guard let given else { return stored }
        let names = Set(stored.split(separator: ";").map(Self.name))
        let rest = given.split(separator: ";").filter { !$0.allSatisfy { $0 == " " } && !names.contains(Self.name($0)) }
        return ([stored] + rest.map { String($0.drop { $0 == " " }) }).joined(separator: "; ")
    }

    private static func name(_ pair: Substring) -> Substring { pair.drop { $0 == " " }.prefix { $0 != "=" } }
}
