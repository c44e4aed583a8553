import CarillonABI
import Glibc
import PluginHost
import PluginProtocol

/// Memory for a plugin during one call. It is overwritten afterwards, which exposes a plugin that kept a pointer.
final class Arena {
    enum Placement: Sendable {
        case plain
        /// Each piece ends at the end of readable memory.
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
            // memset and memcpy instead of Swift's own, because builds without optimization take long for megabytes.
            if let start = piece.baseAddress { memset(start, 0xdb, piece.count) }
            piece.deallocate()
        }
        for mapping in mappings { munmap(mapping.start, mapping.size) }
    }

    /// A copy of `bytes`.
    func text(_ bytes: [UInt8]) -> carillon_str {
        guard !bytes.isEmpty else { return carillon_str(ptr: nil, len: 0) }
        let room = room(bytes.count)
        bytes.withUnsafeBytes { room.copyMemory(from: $0) }
        return carillon_str(ptr: room.baseAddress, len: bytes.count)
    }

    /// A copy of `elements`, or NULL if there are none.
    func array<Element: BitwiseCopyable>(_ elements: [Element]) -> UnsafePointer<Element>? {
        guard !elements.isEmpty else { return nil }
        let room = room(elements.count * MemoryLayout<Element>.stride).bindMemory(to: Element.self)
        _ = room.initialize(from: elements)
        return UnsafePointer(room.baseAddress)
    }

    /// A copy of `value` in the arena's shape.
    func borrow<Struct: ForeignStruct>(_ value: Struct) -> UnsafePointer<Struct>? {
        let size = MemoryLayout<Struct>.size
        let room = room(size + shape.excess)
        // A future field may hold anything.
        room.initializeMemory(as: UInt8.self, repeating: shape == .longer ? 0xff : 0)
        var value = value
        value.struct_size = UInt32(size + shape.excess)
        withUnsafeBytes(of: &value) { room.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<size])) }
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

/// The layout of the host's structs.
enum StructShape: Sendable, Hashable {
    /// This router's layout.
    case current
    /// The layout of a future release: longer, with unknown fields.
    case longer

    /// How many bytes follow those that this router knows.
    var excess: Int { self == .longer ? 64 : 0 }
}

/// A plugin's result of a call that may fail with an error message.
struct RefusedCall: Sendable, Hashable {
    private static let margin = 64
    private static let mark: UInt8 = 0xa5

    let status: carillon_status
    /// Its message, sanitized; empty if the call succeeded.
    let said: String
    /// The problem with its refusal; empty if there is none, or if the call succeeded.
    let flaw: String

    var isRefused: Bool { status != .CARILLON_OK }

    /// Passes an error buffer of `capacity` bytes to `body`, and checks that it stays within it.
    init(capacity: Int = 512, of body: (UnsafeMutablePointer<carillon_error>) -> carillon_status) {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity + 2 * Self.margin, alignment: 16)
        defer { room.deallocate() }
        if let start = room.baseAddress { memset(start, Int32(Self.mark), room.count) }
        let buffer = UnsafeMutableRawBufferPointer(rebasing: room[Self.margin..<(Self.margin + capacity)])
        if let start = buffer.baseAddress { memset(start, 0, buffer.count) }
        var error = carillon_error(
            buf: room.baseAddress.map { ($0 + Self.margin).assumingMemoryBound(to: CChar.self) },
            capacity: capacity,
            len: 0
        )
        status = body(&error)
        let text = carillon_str(ptr: room.baseAddress.map { $0 + Self.margin }, len: min(error.len, capacity))
        said = status == .CARILLON_OK ? "" : PluginText.line(text, limit: capacity)

        let isMarginTouched =
            room[..<Self.margin].contains { $0 != Self.mark }
            || room[(Self.margin + capacity)...].contains { $0 != Self.mark }
        if isMarginTouched {
            flaw = "it wrote outside of the error's buffer: write at most `capacity` bytes (\(capacity) here)"
        } else if error.len > capacity {
            flaw = "it set the error's len to \(error.len) with a capacity of \(capacity): set it to what you wrote"
        } else if status != .CARILLON_OK, capacity > 0, error.len == 0 {
            flaw = "it refused without a message: write to the carillon_error what is wrong and what was expected"
        } else if status != .CARILLON_OK, error.len < capacity, PluginText.string(text, limit: capacity) == nil {
            flaw = "the error's text is not UTF-8: never copy what came from outside unchecked"
        } else {
            flaw = ""
        }
    }
}
