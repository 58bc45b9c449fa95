extension Migration {
    /// The history is trimmed along its own order: an index by age cost each transfer two changes more.
    static let version2 = """
        DROP INDEX age;
        """
}
