extension RegistrySchema {
    /// What the index has to know of every device. The sealing key itself is among the secrets.
    static let languages = """
        ALTER TABLE devices ADD COLUMN locale TEXT;
        ALTER TABLE devices ADD COLUMN has_sealing_key INTEGER NOT NULL DEFAULT 0;
        """
}
