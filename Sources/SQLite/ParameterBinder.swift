// SPDX-License-Identifier: Apache-2.0
internal import CSQLite

/// Binds the parameters of a statement in their order; `nil` is NULL.
///
/// For statements that run once per row: unlike ``SQLiteStatement/bind(_:)`` it needs no array of boxed values.
package struct ParameterBinder {
    private let statement: OpaquePointer
    /// The number of parameters bound so far.
    private(set) var count: Int32 = 0
    /// The result code of the first call that failed.
    private(set) var code = SQLITE_OK

    init(_ statement: OpaquePointer) { self.statement = statement }

    /// Binds an integer.
    package mutating func add(_ value: Int64) {
        self.record(value.bind(to: self.statement, at: self.count + 1))
    }

    /// Binds an integer or NULL.
    package mutating func add(_ value: Int64?) {
        if let value { self.add(value) } else { self.addNull() }
    }

    /// Binds a number or NULL.
    package mutating func add(_ value: Double?) {
        guard let value else { return self.addNull() }
        self.record(value.bind(to: self.statement, at: self.count + 1))
    }

    /// Binds a text or NULL.
    package mutating func add(_ value: String?) {
        guard let value else { return self.addNull() }
        self.record(value.bind(to: self.statement, at: self.count + 1))
    }

    private mutating func addNull() { self.record(sqlite3_bind_null(self.statement, self.count + 1)) }

    private mutating func record(_ code: Int32) {
        self.count += 1
        if self.code == SQLITE_OK { self.code = code }
    }
}
