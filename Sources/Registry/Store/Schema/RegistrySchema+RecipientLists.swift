extension RegistrySchema {
    /// The newest of an account's own lists, of the kinds that filters want. No table without row ids: a list may fill many
    /// pages.
    static let recipientLists = """
        CREATE TABLE recipient_lists (
            account BLOB NOT NULL,
            kind INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            event BLOB NOT NULL,
            PRIMARY KEY (account, kind)
        );
        """
}
