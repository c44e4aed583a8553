/// The dynamic linker's view of a 64-bit little-endian ELF file: the libraries it needs and the symbols it exports.
struct ELFImage {
    enum Mistake: Error {
        case notELF64
        case truncated
        case noSection(String)
    }

    private struct Section {
        let type: UInt32
        let offset: Int
        let size: Int
        let link: Int
    }

    private static let dynamicType: UInt32 = 6
    private static let dynamicSymbolsType: UInt32 = 11
    private static let neededTag: UInt64 = 1
    private static let flags1Tag: UInt64 = 0x6FFF_FFFB
    private static let noDeleteFlag: UInt64 = 8

    /// The `DT_NEEDED` entries.
    let neededLibraries: [String]
    /// Defined symbols of the dynamic table that other objects can see: global or weak, and not hidden.
    let exportedSymbols: [String]
    /// Undefined symbols of the dynamic table.
    let importedSymbols: [String]
    /// Whether the library is marked as never unloaded.
    let isNeverUnloaded: Bool

    init(_ bytes: [UInt8]) throws {
        let file = ByteReader(bytes)
        guard bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]) else { throw Mistake.notELF64 }
        let sections = try ELFImage.sections(file)
        guard let dynamic = sections.first(where: { $0.type == ELFImage.dynamicType }) else {
            throw Mistake.noSection(".dynamic")
        }
        guard let symbols = sections.first(where: { $0.type == ELFImage.dynamicSymbolsType }) else {
            throw Mistake.noSection(".dynsym")
        }
        guard sections.indices.contains(dynamic.link), sections.indices.contains(symbols.link) else {
            throw Mistake.noSection(".dynstr")
        }
        var needed: [String] = []
        var flags: UInt64 = 0
        for entry in stride(from: dynamic.offset, to: dynamic.offset + dynamic.size, by: 16) {
            let value = try file.integer(at: entry + 8, as: UInt64.self)
            switch try file.integer(at: entry, as: UInt64.self) {
            case ELFImage.neededTag: needed.append(try file.text(at: sections[dynamic.link].offset + Int(value)))
            case ELFImage.flags1Tag: flags = value
            default: break
            }
        }
        neededLibraries = needed
        isNeverUnloaded = flags & ELFImage.noDeleteFlag != 0
        var exported: [String] = []
        var imported: [String] = []
        // The first entry is the null symbol.
        for entry in stride(from: symbols.offset + 24, to: symbols.offset + symbols.size, by: 24) {
            let name = try file.text(
                at: sections[symbols.link].offset + Int(file.integer(at: entry, as: UInt32.self))
            )
            let binding = try file.integer(at: entry + 4, as: UInt8.self) >> 4
            let visibility = try file.integer(at: entry + 5, as: UInt8.self) & 3
            let isDefined = try file.integer(at: entry + 6, as: UInt16.self) != 0
            if !isDefined {
                imported.append(name)
            } else if binding != 0, visibility == 0 || visibility == 3 {
                exported.append(name)
            }
        }
        exportedSymbols = exported
        importedSymbols = imported
    }

    private static func sections(_ file: ByteReader) throws -> [Section] {
        let table = Int(try file.integer(at: 0x28, as: UInt64.self))
        let entrySize = Int(try file.integer(at: 0x3A, as: UInt16.self))
        let count = Int(try file.integer(at: 0x3C, as: UInt16.self))
        return try (0..<count).map { index in
            let entry = table + index * entrySize
            return Section(
                type: try file.integer(at: entry + 4, as: UInt32.self),
                offset: Int(try file.integer(at: entry + 0x18, as: UInt64.self)),
                size: Int(try file.integer(at: entry + 0x20, as: UInt64.self)),
                link: Int(try file.integer(at: entry + 0x28, as: UInt32.self))
            )
        }
    }
}
