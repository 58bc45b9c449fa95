internal import GRDBSQLite

/// A value that a statement's parameter takes.
///
/// - Source: SQLite, "Binding Values To Prepared Statements".
protocol Bindable {
    /// Gives it to a statement's parameter, counted from 1; SQLite's result code is returned.
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32
}

extension Int64: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_int64(statement, index, self) }
}

extension Int: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { Int64(self).bind(to: statement, at: index) }
}

extension Bool: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        Int64(self ? 1 : 0).bind(to: statement, at: index)
    }
}

extension Double: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_double(statement, index, self) }
}

extension String: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        // SQLite makes a copy: SQLITE_TRANSIENT, a macro that Swift does not see.
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        return sqlite3_bind_text(statement, index, self, Int32(clamping: self.utf8.count), copies)
    }
}
