import CarillonABI

/// Room for one sentence about what is wrong.
enum ErrorRoom {
    private static var capacity: Int { 512 }

    /// Lends room; returns what was written to it.
    static func lend(
        _ body: (UnsafeMutablePointer<carillon_error>) -> carillon_status
    ) -> (carillon_status, String) {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { room in
            room.initialize(repeating: 0)
            var error = carillon_error(buf: room.baseAddress, capacity: capacity, len: 0)
            let status = body(&error)
            let length = min(max(0, error.len), capacity)
            return (status, String(decoding: UnsafeRawBufferPointer(room).prefix(length), as: UTF8.self))
        }
    }

    /// Writes as much of `text` as there is room.
    static func write(_ text: carillon_str, to error: UnsafeMutablePointer<carillon_error>?) {
        guard let error, let room = error.pointee.buf, let start = text.ptr, text.len > 0 else { return }
        let length = min(text.len, error.pointee.capacity)
        room.update(from: start.assumingMemoryBound(to: CChar.self), count: length)
        error.pointee.len = length
    }

    /// Writes as much of `text` as there is room.
    static func write(_ text: String, to error: UnsafeMutablePointer<carillon_error>?) {
        var text = text
        text.withUTF8 { write(carillon_str(ptr: UnsafeRawPointer($0.baseAddress), len: $0.count), to: error) }
    }
}
