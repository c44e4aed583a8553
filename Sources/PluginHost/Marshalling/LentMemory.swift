import CarillonABI
import Notifications

/// Hands out pieces of one block that lives as long as a call to a plugin: structs first, texts behind them.
struct LentMemory {
    private var structs: UnsafeMutableRawBufferPointer
    private var texts: UnsafeMutableRawBufferPointer

    /// A block of at least `structBytes + textBytes`; `structBytes` must be a multiple of 8.
    init(_ block: UnsafeMutableRawBufferPointer, structBytes: Int, textBytes: Int) {
        structs = UnsafeMutableRawBufferPointer(rebasing: block[..<structBytes])
        texts = UnsafeMutableRawBufferPointer(rebasing: block[structBytes..<(structBytes + textBytes)])
    }

    /// Room for `count` of `type`, uninitialised.
    mutating func array<Element>(of type: Element.Type, count: Int) -> UnsafeMutableBufferPointer<Element> {
        let size = count * MemoryLayout<Element>.stride
        let room = UnsafeMutableRawBufferPointer(rebasing: structs[..<size])
        structs = UnsafeMutableRawBufferPointer(rebasing: structs[size...])
        return room.bindMemory(to: type)
    }

    /// A copy of `text`.
    mutating func text(_ text: String) -> carillon_str {
        // Most texts of a notification are empty.
        guard !text.isEmpty else { return carillon_str(ptr: nil, len: 0) }
        // In place, without a copy of the text that would have to be counted.
        if let lent = text.utf8.withContiguousStorageIfAvailable({ copy($0) }) { return lent }
        var text = text
        return text.withUTF8 { copy($0) }
    }

    /// The text of `id`.
    mutating func text(_ id: DeliveryID) -> carillon_str {
        let room = room(DeliveryID.textLength)
        id.write(to: room)
        return carillon_str(ptr: room.baseAddress, len: room.count)
    }

    @inline(__always)
    private mutating func copy(_ bytes: UnsafeBufferPointer<UInt8>) -> carillon_str {
        let room = room(bytes.count)
        room.copyMemory(from: UnsafeRawBufferPointer(bytes))
        return carillon_str(ptr: room.baseAddress, len: room.count)
    }

    @inline(__always)
    private mutating func room(_ count: Int) -> UnsafeMutableRawBufferPointer {
        defer { texts = UnsafeMutableRawBufferPointer(rebasing: texts[count...]) }
        return UnsafeMutableRawBufferPointer(rebasing: texts[..<count])
    }
}

/// Lends a plugin room for one sentence, and writes into a plugin's.
package enum ErrorBuffer {
    private static let capacity = 512

    /// What `body` returned and, if that is a failure, what the plugin wrote meanwhile.
    static func lend(
        _ body: (UnsafeMutablePointer<carillon_error>) -> carillon_status
    ) -> (status: carillon_status, said: String) {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer in
            buffer.initialize(repeating: 0)
            var error = carillon_error(buf: buffer.baseAddress, capacity: capacity, len: 0)
            let status = body(&error)
            guard status != .CARILLON_OK else { return (status, "") }
            // The buffer is ours: what the plugin made of `buf` and `capacity` does not matter.
            let said = carillon_str(
                ptr: buffer.baseAddress,
                len: Int(min(UInt(bitPattern: error.len), UInt(capacity)))
            )
            let line = PluginText.line(said, limit: capacity)
            return (status, line.isEmpty ? "it does not say why (status \(status.rawValue))" : line)
        }
    }

    /// Writes as much of `text`, which is ASCII, as a plugin has room for.
    package static func write(_ text: String, to error: UnsafeMutablePointer<carillon_error>?) {
        guard let error, let room = error.pointee.buf, error.pointee.capacity > 0 else { return }
        let bytes = text.utf8.prefix(error.pointee.capacity)
        for (index, byte) in bytes.enumerated() { room[index] = CChar(bitPattern: byte) }
        error.pointee.len = bytes.count
    }
}
