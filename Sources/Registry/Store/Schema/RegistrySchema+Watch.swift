extension RegistrySchema {
    /// A `key` of no bytes is the owner's own, as it mostly is. The rows of an owner are beside each other, so that all owners'
    /// can be compared in one go with what should be; the index finds who else has a key watched.
    static let watch = """
        CREATE TABLE watch_relays (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, mark INTEGER);

        CREATE TABLE watch (
            owner BLOB NOT NULL,
            key BLOB NOT NULL,
            relay INTEGER NOT NULL,
            interest INTEGER NOT NULL,
            since INTEGER NOT NULL,
            established INTEGER NOT NULL,
            PRIMARY KEY (owner, key, relay)
        ) WITHOUT ROWID;
        CREATE INDEX watch_others ON watch (key, relay, interest) WHERE key <> x'';
        """
}
