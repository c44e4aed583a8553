import GRDB

extension RegistryRows {
    /// Whose registry this is: `key`'s if it was nobody's.
    func claim(for key: String) throws -> String {
        try execute("INSERT OR IGNORE INTO meta (name, value) VALUES ('identity', ?)", [key])
        return try owner()
    }

    /// Whose registry this is; empty: nobody's yet.
    func owner() throws -> String { try one("SELECT value FROM meta WHERE name = 'identity'")?[0] ?? "" }
}
