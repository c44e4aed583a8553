import CarillonABI

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
    mutating func text(_ text: String) -> carillon_str { bytes(text.utf8) }

    /// A copy of `bytes`.
    mutating func bytes(_ bytes: some Collection<UInt8>) -> carillon_bytes {
        let count = bytes.count
        guard count > 0 else { return carillon_bytes(ptr: nil, len: 0) }
        let room = UnsafeMutableRawBufferPointer(rebasing: texts[..<count])
        room.copyBytes(from: bytes)
        texts = UnsafeMutableRawBufferPointer(rebasing: texts[count...])
        return carillon_bytes(ptr: room.baseAddress, len: count)
    }
}
