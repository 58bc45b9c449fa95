// SPDX-License-Identifier: Apache-2.0
extension Migration {
    /// Removes the index by age, which cost two more changes per transfer: the history is trimmed in the order of ends.
    static let version2 = """
        DROP INDEX age;
        """
}
