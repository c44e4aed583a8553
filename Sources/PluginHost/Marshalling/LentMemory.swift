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
    mutating func text(_ text: String) -> carillon_str {
        var text = text
        return text.withUTF8 { bytes in
            guard !bytes.isEmpty else { return carillon_str(ptr: nil, len: 0) }
            let room = UnsafeMutableRawBufferPointer(rebasing: texts[..<bytes.count])
            room.copyMemory(from: UnsafeRawBufferPointer(bytes))
            texts = UnsafeMutableRawBufferPointer(rebasing: texts[bytes.count...])
            return carillon_str(ptr: room.baseAddress, len: room.count)
        }
    }
}
