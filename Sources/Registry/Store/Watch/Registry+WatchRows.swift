extension Registry {
    /// Runs `body` on the rows about who is watched where, in one transaction that is on disk on return. Throws a
    /// ``RegistryStoreError``, or what `body` throws.
    package func writeWatch<Value>(_ body: (RegistryRows) throws -> Value) throws -> Value {
        try store.write(body)
    }

    /// Runs `body` on one consistent state of the rows about who is watched where, beside writers.
    package func readWatch<Value>(_ body: (RegistryRows) throws -> Value) throws -> Value {
        try store.read(body)
    }
}
