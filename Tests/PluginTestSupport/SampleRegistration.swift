package import CarillonABI

/// A registration that a test fills and passes over the ABI.
package struct SampleRegistration {
    package var token: [UInt8]
    package var fields: [(name: String, value: String)]
    package var registeredAt: UInt64

    package init(token: String, fields: [(name: String, value: String)] = [], registeredAt: UInt64 = 0) {
        self.token = [UInt8](token.utf8)
        self.fields = fields
        self.registeredAt = registeredAt
    }

    /// Calls `use` with the struct; valid until it returns.
    package func withABI<Result, Failure: Error>(
        _ use: (UnsafePointer<carillon_registration>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let arena = ABIArena()
        let entries = fields.map { carillon_field(name: arena.text($0.name), value: arena.text($0.value)) }
        var registration = carillon_registration()
        registration.struct_size = UInt32(MemoryLayout<carillon_registration>.size)
        registration.token = arena.bytes(token)
        registration.fields = arena.array(entries)
        registration.field_count = entries.count
        registration.registered_unix_ms = registeredAt
        defer { withExtendedLifetime(arena) {} }
        return try use(&registration)
    }
}
