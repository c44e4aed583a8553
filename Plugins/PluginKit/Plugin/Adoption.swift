internal import CarillonABI

/// A struct of the ABI that starts with `struct_size` and grows at its end.
protocol GrowingStruct {
    /// All zero: what the fields mean that an older host does not have.
    init()
}

extension carillon_host: GrowingStruct {}
extension carillon_client_certificates: GrowingStruct {}
extension carillon_registration: GrowingStruct {}
extension carillon_notification: GrowingStruct {}
extension carillon_action: GrowingStruct {}
extension carillon_http_response: GrowingStruct {}
extension carillon_filter_call: GrowingStruct {}

extension GrowingStruct {
    /// Copies as much of the struct behind `pointer` as it says it has and this build knows; the rest is zero.
    static func adopt(_ pointer: UnsafePointer<Self>) -> Self {
        var own = Self()
        let foreign = UnsafeRawPointer(pointer)
        let size = min(Int(foreign.loadUnaligned(as: UInt32.self)), MemoryLayout<Self>.size)
        withUnsafeMutableBytes(of: &own) { room in
            room.copyMemory(from: UnsafeRawBufferPointer(start: foreign, count: size))
        }
        return own
    }
}
