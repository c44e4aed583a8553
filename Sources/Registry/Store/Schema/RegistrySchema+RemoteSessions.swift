extension RegistrySchema {
    /// Sessions of NIP-46, and which client opened one with which secret. Of a secret there is a keyed digest; it stays when the
    /// session ends, for nobody else may ever use it.
    static let remoteSessions = """
        CREATE TABLE remote_sessions (
            client BLOB PRIMARY KEY,
            opened_at INTEGER NOT NULL,
            used_at INTEGER NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE used_secrets (
            digest BLOB PRIMARY KEY,
            client BLOB NOT NULL,
            used_at INTEGER NOT NULL
        ) WITHOUT ROWID;
        """
}
