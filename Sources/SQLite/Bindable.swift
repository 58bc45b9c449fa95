// SPDX-License-Identifier: Apache-2.0
internal import CSQLite

/// A value that can be bound to a statement's parameter.
///
/// - Source: SQLite, "Binding Values To Prepared Statements".
package protocol Bindable {
    /// Binds the value to a parameter, counted from 1, and returns SQLite's result code.
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32
}

extension Int64: Bindable {
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_int64(statement, index, self)
    }
}

extension Int: Bindable {
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        Int64(self).bind(to: statement, at: index)
    }
}

extension Bool: Bindable {
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        Int64(self ? 1 : 0).bind(to: statement, at: index)
    }
}

extension Double: Bindable {
    /// SQLite stores a NaN as NULL.
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        sqlite3_bind_double(statement, index, self)
    }
}

extension String: Bindable {
    /// All bytes are stored, also after a NUL; SQLite's own text functions end at the first one.
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        martlet_sqlite3_bind_text(statement, index, self, UInt64(self.utf8.count))
    }
}

extension [UInt8]: Bindable {
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        // A null pointer, which an empty array may have, would be bound as NULL.
        guard !self.isEmpty else { return sqlite3_bind_zeroblob(statement, index, 0) }
        return self.withUnsafeBytes {
            martlet_sqlite3_bind_blob(statement, index, $0.baseAddress, UInt64($0.count))
        }
    }
}
