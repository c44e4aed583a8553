import Storage

/// The tables of a ``ContextStore``. Row ids grow with time, for a row that is replaced gets a new one: so the oldest are
/// found without an index.
enum ContextSchema {
    static func file(at path: String) -> RenewableFile {
        RenewableFile(
            path: path,
            // "Crln" and what it is.
            applicationID: 0x4372_6C01,
            version: 1,
            tables: """
                CREATE TABLE profiles (
                    row INTEGER PRIMARY KEY,
                    author BLOB NOT NULL UNIQUE,
                    name BLOB,
                    created_at INTEGER NOT NULL,
                    learned_at INTEGER NOT NULL
                );
                CREATE TABLE notes (
                    row INTEGER PRIMARY KEY,
                    id BLOB NOT NULL UNIQUE,
                    author BLOB NOT NULL,
                    root BLOB,
                    kind INTEGER NOT NULL,
                    content BLOB NOT NULL,
                    learned_at INTEGER NOT NULL
                );
                """
        )
    }
}
