extension RegistrySchema {
    /// Finds whose a key for messages is.
    static let messageKeyOwners = "CREATE INDEX message_keys_key ON message_keys (key);"
}
