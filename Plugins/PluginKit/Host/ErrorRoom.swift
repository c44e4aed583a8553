internal import CarillonABI

/// Lends the host room for one sentence.
enum ErrorRoom {
    private static let capacity = 512

    /// What `body` returned, and what it wrote meanwhile.
    static func lend(
        _ body: (UnsafeMutablePointer<carillon_error>) -> carillon_status
    ) -> (status: carillon_status, said: String) {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer in
            buffer.initialize(repeating: 0)
            var error = carillon_error(buf: buffer.baseAddress, capacity: capacity, len: 0)
            let status = body(&error)
            let length = Int(min(UInt(bitPattern: error.len), UInt(capacity)))
            return (status, String(decoding: UnsafeRawBufferPointer(buffer).prefix(length), as: UTF8.self))
        }
    }
}
