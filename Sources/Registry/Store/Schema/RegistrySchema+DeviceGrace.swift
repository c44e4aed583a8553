extension RegistrySchema {
    /// Until when a device counts that the newest list of its root identity says nothing of, in milliseconds since
    /// 1970; no time where that list names it.
    static let deviceGrace = "ALTER TABLE listed_devices ADD COLUMN until INTEGER;"
}
