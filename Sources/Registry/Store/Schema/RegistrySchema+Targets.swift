extension RegistrySchema {
    /// Which device has a target that people choose, by a handle that tells nothing of it, and which ones would have it. Few do.
    static let chosenTargets = """
        CREATE TABLE chosen_targets (
            device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
            target BLOB NOT NULL,
            confirmed INTEGER NOT NULL,
            asked_at INTEGER
        );
        CREATE INDEX chosen_targets_target ON chosen_targets (target);
        """
}
