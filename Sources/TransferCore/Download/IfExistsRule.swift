/// What to do where the name is taken.
package enum IfExistsRule: String, Sendable, CaseIterable {
    /// Skip what agrees with the server, resume what we began, number anything else.
    case auto
    /// Skip whatever exists.
    case skip
    /// Go on from the existing file's end after comparing the overlap.
    case resume
    /// Always take a number.
    case rename
    /// Replace the file when the new one is whole.
    case overwrite
    /// Fail.
    case fail
}
