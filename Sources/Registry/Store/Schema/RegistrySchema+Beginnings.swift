extension RegistrySchema {
    /// When a device came into its slot, which registering anew leaves as it is: clients do that whenever they are opened.
    static let beginnings = """
        ALTER TABLE devices ADD COLUMN first_registered_at INTEGER NOT NULL DEFAULT 0;
        UPDATE devices SET first_registered_at = registered_at;
        """
}
