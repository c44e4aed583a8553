extension RegistrySchema {
    /// Who speaks for whom. What was called account is who signed; the account is the root identity if that is another.
    static let identities = """
        ALTER TABLE devices RENAME COLUMN account TO author;
        ALTER TABLE devices ADD COLUMN root BLOB;
        ALTER TABLE devices ADD COLUMN account BLOB GENERATED ALWAYS AS (coalesce(root, author)) VIRTUAL;
        CREATE INDEX devices_account ON devices (account);
        ALTER TABLE tombstones RENAME COLUMN account TO author;
        ALTER TABLE floors RENAME COLUMN account TO author;
        ALTER TABLE own_events RENAME COLUMN account TO author;

        CREATE TABLE waiting (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            author BLOB NOT NULL,
            device_id TEXT NOT NULL,
            root BLOB NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            arrived_at INTEGER NOT NULL,
            json TEXT NOT NULL,
            UNIQUE (author, device_id)
        );
        CREATE INDEX waiting_root ON waiting (root);

        CREATE TABLE lists (
            author BLOB NOT NULL,
            kind INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            learned_at INTEGER NOT NULL,
            relays TEXT NOT NULL,
            PRIMARY KEY (author, kind)
        ) WITHOUT ROWID;
        CREATE TABLE listed_devices (
            root BLOB NOT NULL,
            device BLOB NOT NULL,
            PRIMARY KEY (root, device)
        ) WITHOUT ROWID;
        CREATE TABLE message_keys (
            account BLOB NOT NULL,
            key BLOB NOT NULL,
            until INTEGER,
            PRIMARY KEY (account, key)
        ) WITHOUT ROWID;

        CREATE TABLE wished_relays (
            device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
            relays TEXT NOT NULL
        );
        CREATE TABLE partners (
            device INTEGER NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
            partner BLOB NOT NULL,
            PRIMARY KEY (device, partner)
        ) WITHOUT ROWID;
        CREATE INDEX partners_partner ON partners (partner);

        ALTER TABLE contact_lists ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE follows_read (account BLOB PRIMARY KEY) WITHOUT ROWID;
        """
}
