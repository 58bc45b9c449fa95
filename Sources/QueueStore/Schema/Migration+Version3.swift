// SPDX-License-Identifier: Apache-2.0
extension Migration {
    /// Adds the content of uploads, JSON text, or NULL for a download.
    static let version3 = """
        ALTER TABLE transfers ADD COLUMN upload TEXT;
        """
}
