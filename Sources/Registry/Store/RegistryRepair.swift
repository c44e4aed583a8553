import GRDB

/// Repairs a registry saved from a damaged file, in which rows may be missing.
enum RegistryRepair {
    /// How many device ids to skip in a saved registry, because lost devices may have had them: a delivery that waits
    /// for a lost device must not reach a new one.
    private static let idsLeftFree = 1_000_000

    /// Deletes rows whose counterparts are missing. A device without secrets gets no pushes, and would turn its app's
    /// next registration into a duplicate.
    static func mend(_ database: Database) throws {
        try database.execute(
            sql: """
                DELETE FROM devices WHERE id NOT IN (SELECT device FROM secrets) OR route NOT IN (SELECT id FROM routes);
                DELETE FROM secrets WHERE device NOT IN (SELECT id FROM devices);
                """
        )
        for table in ["wished_relays", "partners", "chosen_targets", "disabled_devices"] {
            try database.execute(sql: "DELETE FROM \(table) WHERE device NOT IN (SELECT id FROM devices)")
        }
        try database.execute(
            sql: """
                DELETE FROM plugin_states WHERE owner NOT IN (SELECT id FROM plugin_owners);
                DELETE FROM ingress_device_count;
                INSERT INTO ingress_device_count SELECT count(*) FROM ingress_devices;
                """
        )
        for table in ["devices", "waiting", "ingress_devices"] {
            let id = table == "waiting" ? "number" : "id"
            try database.execute(
                sql: """
                    INSERT INTO sqlite_sequence (name, seq)
                    SELECT '\(table)', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '\(table)');
                    UPDATE sqlite_sequence SET seq = \(idsLeftFree) + max(seq, (SELECT coalesce(max(\(id)), 0) FROM \(table)))
                    WHERE name = '\(table)';
                    """
            )
        }
    }
}
