// SPDX-License-Identifier: Apache-2.0
/// An invalid value on the command line or in an input file.
struct BadValue: Error, CustomStringConvertible, Equatable {
    /// The problem and how to fix it.
    var description: String

    init(_ description: String) { self.description = description }
}
