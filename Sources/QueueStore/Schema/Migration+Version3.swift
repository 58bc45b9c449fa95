extension Migration {
    /// Uploads: what is sent, JSON text, or NULL for a download.
    static let version3 = """
        ALTER TABLE transfers ADD COLUMN upload TEXT;
        """
}
