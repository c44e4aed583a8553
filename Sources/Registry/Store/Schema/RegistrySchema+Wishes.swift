extension RegistrySchema {
    /// What a device wishes of pace and filters, sealed: quiet hours tell when somebody sleeps. Most wish nothing.
    static let wishes = "ALTER TABLE devices ADD COLUMN wishes BLOB;"
}
