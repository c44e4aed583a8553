extension RegistrySchema {
    /// Secrets are apart from `devices`, which is read as a whole at every start.
    static let devices = """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

        CREATE TABLE routes (
            id INTEGER PRIMARY KEY,
            platform TEXT NOT NULL,
            app TEXT NOT NULL,
            UNIQUE (platform, app)
        );

        CREATE TABLE devices (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            account BLOB NOT NULL,
            device_id TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            registered_at INTEGER NOT NULL,
            route INTEGER NOT NULL REFERENCES routes (id),
            mode INTEGER,
            signals INTEGER NOT NULL,
            further_signals TEXT,
            UNIQUE (account, device_id)
        );
        CREATE INDEX devices_further_signals ON devices (id) WHERE further_signals IS NOT NULL;

        CREATE TABLE secrets (
            device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
            handle BLOB NOT NULL,
            address BLOB NOT NULL,
            content BLOB NOT NULL
        );
        CREATE INDEX secrets_handle ON secrets (handle);

        CREATE TABLE tombstones (
            account BLOB NOT NULL,
            device_id TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            PRIMARY KEY (account, device_id)
        ) WITHOUT ROWID;
        CREATE TABLE floors (account BLOB PRIMARY KEY, created_at INTEGER NOT NULL) WITHOUT ROWID;

        CREATE TABLE own_events (
            account BLOB NOT NULL,
            slot TEXT NOT NULL,
            json TEXT NOT NULL,
            PRIMARY KEY (account, slot)
        );

        CREATE TABLE contact_lists (author BLOB PRIMARY KEY, created_at INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE follows (
            author BLOB NOT NULL,
            account BLOB NOT NULL,
            PRIMARY KEY (author, account)
        ) WITHOUT ROWID;
        """
}
