import CarillonABI
import Glibc
import PluginHost
import PluginProtocol

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
            // These are memset and memcpy, not Swift's own: builds without optimisation take long for megabytes.
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
        // A future field may hold anything.
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

/// How a struct of the host looks to a plugin.
enum StructShape: Sendable, Hashable {
    /// As this router makes it.
    case current
    /// As the first release of the ABI made it.
    case first
    /// As a future release may make it: longer, with unknown fields.
    case longer

    /// What `struct_size` says, how much of the value is there, and how much memory there is.
    func sizes<Struct: LentStruct>(of _: Struct.Type) -> (claimed: Int, filled: Int, room: Int) {
        let size = MemoryLayout<Struct>.size
        return switch self {
        case .current: (size, size, size)
        case .first: (Struct.firstSize, Struct.firstSize, Struct.firstSize)
        case .longer: (size + 64, size, size + 64)
        }
    }
}

/// A struct of the ABI that the host lends to plugins.
protocol LentStruct: ForeignStruct {
    /// Its size in minor version 0, whatever was appended since.
    static var firstSize: Int { get }
}

extension carillon_host: LentStruct {
    static var firstSize: Int { end(of: \.query) }
}

extension carillon_client_certificates: LentStruct {
    static var firstSize: Int { end(of: \.present) }
}

extension carillon_timers: LentStruct {
    static var firstSize: Int { end(of: \.cancel) }
}

extension carillon_states: LentStruct {
    static var firstSize: Int { end(of: \.set) }
}

extension carillon_streams: LentStruct {
    static var firstSize: Int { end(of: \.close) }
}

extension carillon_inbound: LentStruct {
    static var firstSize: Int { end(of: \.url) }
}

extension carillon_inbound_request: LentStruct {
    static var firstSize: Int { end(of: \.body) }
}

extension carillon_delivery: LentStruct {
    static var firstSize: Int { end(of: \.notification) }
}

extension carillon_registration: LentStruct {
    static var firstSize: Int { end(of: \.registered_unix_ms) }
}

extension carillon_action: LentStruct {
    static var firstSize: Int { end(of: \.icon) }
}

extension carillon_notification: LentStruct {
    static var firstSize: Int { end(of: \.expires_unix_ms) }
}

extension carillon_http_response: LentStruct {
    static var firstSize: Int { end(of: \.failure) }
}

extension carillon_filter_call: LentStruct {
    static var firstSize: Int { end(of: \.set) }
}

extension LentStruct {
    fileprivate static func end<Field>(of field: KeyPath<Self, Field>) -> Int {
        MemoryLayout<Self>.offset(of: field).map { $0 + MemoryLayout<Field>.size } ?? MemoryLayout<Self>.size
    }
}
