/// How many connections one file gets.
package enum ConnectionPolicy: Sendable, Hashable {
    /// This many as soon as the server is known to do ranges.
    case fixed(Int)
    /// One, and more up to this number as long as each proves to help.
    case adaptive(most: Int)
}
