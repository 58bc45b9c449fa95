// SPDX-License-Identifier: Apache-2.0
/// The names of the columns of a table that have a meaning.
///
/// Other columns are copied to the report, also one that is called `key` if the keys are in another one.
package struct TableColumns: Sendable, Equatable {
    /// A meaning of a column.
    package enum Role: String, Sendable, CaseIterable {
        case url
        /// The row's identity for the user.
        case key
        /// The path of the file.
        case name
        /// The expected digest.
        case checksum
    }

    package private(set) var url = Role.url.rawValue
    package private(set) var key = Role.key.rawValue
    /// The column of the names of files.
    package private(set) var name = Role.name.rawValue
    /// The column of the expected digests.
    package private(set) var checksum = Role.checksum.rawValue
    /// The meanings whose columns were named.
    private var given: [Role] = []

    /// Creates the default names: those of the meanings.
    package init() {}

    /// The columns that were named, by their meaning.
    package var named: [(role: Role, column: String)] {
        Role.allCases.filter { self.given.contains($0) }.map { ($0, self.column($0)) }
    }

    /// The columns that a table must have.
    package var required: [String] {
        Role.allCases.filter { $0 == .url || self.given.contains($0) }.map { self.column($0) }
    }

    /// Names the column with a meaning.
    ///
    /// - Returns: False if the meaning has another column already, or the column another meaning.
    package mutating func set(_ role: Role, to column: String) -> Bool {
        guard !self.given.contains(role), !self.named.contains(where: { $0.column == column }) else { return false }
        self.given.append(role)
        switch role {
        case .url: self.url = column
        case .key: self.key = column
        case .name: self.name = column
        case .checksum: self.checksum = column
        }
        return true
    }

    private func column(_ role: Role) -> String {
        switch role {
        case .url: self.url
        case .key: self.key
        case .name: self.name
        case .checksum: self.checksum
        }
    }
}
