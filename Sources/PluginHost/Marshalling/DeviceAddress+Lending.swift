import CarillonABI
import Notifications

extension DeviceAddress {
    var lentStructBytes: Int { fields.count * MemoryLayout<carillon_field>.stride }

    var lentTextBytes: Int {
        fields.reduce(token.utf8.count) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }

    /// The registration as the ABI says it, in `memory`.
    func registration(in memory: inout LentMemory) -> carillon_registration {
        let array = memory.array(of: carillon_field.self, count: fields.count)
        for (index, field) in fields.enumerated() {
            let name = memory.text(field.key)
            array.initializeElement(at: index, to: carillon_field(name: name, value: memory.text(field.value)))
        }
        return carillon_registration(
            struct_size: UInt32(MemoryLayout<carillon_registration>.size),
            reserved: 0,
            token: memory.text(token),
            fields: fields.isEmpty ? nil : UnsafePointer(array.baseAddress),
            field_count: fields.count,
            registered_unix_ms: UInt64(clamping: registeredAt)
        )
    }

    /// Lends the registration for the time of `body`.
    func lend<Result>(_ body: (UnsafePointer<carillon_registration>) -> Result) -> Result {
        let structBytes = lentStructBytes
        let textBytes = lentTextBytes
        return withUnsafeTemporaryAllocation(byteCount: structBytes + textBytes, alignment: 8) { block in
            var memory = LentMemory(block, structBytes: structBytes, textBytes: textBytes)
            return withUnsafePointer(to: registration(in: &memory), body)
        }
    }
}
