import CarillonABI
import Glibc

/// Memory lent to a plugin for one call. Afterwards it is overwritten, so that a plugin which kept a pointer shows it.
final class Arena {
    enum Placement: Sendable {
        case plain
        /// Each piece ends where the readable memory ends.
        case guarded
    }

    private struct Mapping {
        let start: UnsafeMutableRawPointer
        let size: Int
    }

    private let placement: Placement
    private let shape: StructShape
    private var pieces: [UnsafeMutableRawBufferPointer] = []
    private var mappings: [Mapping] = []

    init(_ placement: Placement = .plain, _ shape: StructShape = .current) {
        self.placement = placement
        self.shape = shape
    }

    deinit {
        for piece in pieces {
            piece.initializeMemory(as: UInt8.self, repeating: 0xdb)
            piece.deallocate()
        }
        for mapping in mappings { munmap(mapping.start, mapping.size) }
    }

    /// A copy of `bytes`.
    func text(_ bytes: [UInt8]) -> carillon_str {
        guard !bytes.isEmpty else { return carillon_str(ptr: nil, len: 0) }
        let room = room(bytes.count)
        room.copyBytes(from: bytes)
        return carillon_str(ptr: room.baseAddress, len: bytes.count)
    }

    /// A copy of `elements`, or NULL when there are none.
    func array<Element: BitwiseCopyable>(_ elements: [Element]) -> UnsafePointer<Element>? {
        guard !elements.isEmpty else { return nil }
        let room = room(elements.count * MemoryLayout<Element>.stride).bindMemory(to: Element.self)
        _ = room.initialize(from: elements)
        return UnsafePointer(room.baseAddress)
    }

    /// A copy of `value` in the arena's shape.
    func lend<Struct: LentStruct>(_ value: Struct) -> UnsafePointer<Struct>? {
        let (claimed, filled, size) = shape.sizes(of: Struct.self)
        let room = room(size)
        // What a field to come may hold is anything; what was cut off is nothing.
        room.initializeMemory(as: UInt8.self, repeating: shape == .longer ? 0xff : 0)
        var value = value
        value.struct_size = UInt32(claimed)
        withUnsafeBytes(of: &value) { room.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<filled])) }
        return UnsafePointer(room.baseAddress?.assumingMemoryBound(to: Struct.self))
    }

    private func room(_ size: Int) -> UnsafeMutableRawBufferPointer {
        if case .guarded = placement, let room = guardedRoom(size) { return room }
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        pieces.append(room)
        return room
    }

    private func guardedRoom(_ size: Int) -> UnsafeMutableRawBufferPointer? {
        let page = Int(getpagesize())
        let readable = (size + page - 1) / page * page
        let start = mmap(nil, readable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start, start != MAP_FAILED else { return nil }
        mappings.append(Mapping(start: start, size: readable + page))
        mprotect(start + readable, page, PROT_NONE)
        return UnsafeMutableRawBufferPointer(start: start + readable - size, count: size)
    }
}
