/// How a struct of the host looks to a plugin.
enum StructShape: Sendable, Hashable {
    /// As this router makes it.
    case current
    /// As the first release of the ABI made it.
    case first
    /// As a release to come may make it: longer, with fields that nobody knows yet.
    case longer
    /// Shorter than any release made it, and nothing but zeros behind.
    case cut(to: Int)

    /// What `struct_size` says, how much of the value is there, and how much memory there is.
    func sizes<Struct: LentStruct>(of _: Struct.Type) -> (claimed: Int, filled: Int, room: Int) {
        let size = MemoryLayout<Struct>.size
        return switch self {
        case .current: (size, size, size)
        case .first: (Struct.firstSize, Struct.firstSize, Struct.firstSize)
        case .longer: (size + 64, size, size + 64)
        case .cut(let shorter): (min(shorter, size), min(shorter, size), size)
        }
    }
}
