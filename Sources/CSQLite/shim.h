// SPDX-License-Identifier: Apache-2.0
// SQLite's interface, and the parts of it that Swift does not import: variadic functions and casts in macros.
//
// There is no `link` line in the module map: Package.swift links the static library on Linux.
#include <sqlite3.h>

/// Refuses double-quoted text as a string literal, and functions of ours in the schema of a foreign file.
static inline void martlet_sqlite3_restrict(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}

/// SQLite copies bound values: Swift's are valid only during the call.
static inline int martlet_sqlite3_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int martlet_sqlite3_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}
