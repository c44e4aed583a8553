extension RegistrySchema {
    /// Whom an account follows. No table without row ids: a list may fill many pages.
    static let followed = """
        CREATE TABLE followed (
            account BLOB PRIMARY KEY NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            hashes BLOB NOT NULL
        );
        """
}
