/// Looks at a file the way the dynamic linker is about to, but without trusting it: glibc maps a file that was cut
/// short and dies of SIGBUS when it touches the missing pages.
enum ELFImage {
    private static let headerSize = 64
    private static let programHeaderSize = 56
    private static let sharedObject: UInt16 = 3
    private static let loadSegment: UInt32 = 1

    #if arch(x86_64)
    private static let machine: UInt16 = 62
    #elseif arch(arm64)
    private static let machine: UInt16 = 183
    #elseif arch(riscv64)
    private static let machine: UInt16 = 243
    #endif

    /// Why `bytes` is no whole 64-bit little-endian shared object for this machine, or nil.
    static func flaw(in bytes: [UInt8]) -> PluginRefusal.Reason? {
        guard !bytes.isEmpty else { return .empty }
        guard bytes.starts(with: [0x7f, 0x45, 0x4c, 0x46]) else { return .notELF }
        guard bytes.count >= headerSize else { return .truncated }
        guard bytes[4] == 2, bytes[5] == 1, load(UInt16.self, at: 18, of: bytes) == machine else {
            return .wrongMachine
        }
        guard load(UInt16.self, at: 16, of: bytes) == sharedObject else { return .notASharedObject }
        guard
            let table = load(UInt64.self, at: 32, of: bytes), let entrySize = load(UInt16.self, at: 54, of: bytes),
            let count = load(UInt16.self, at: 56, of: bytes), Int(entrySize) == programHeaderSize, table < bytes.count
        else { return .truncated }

        for index in 0..<Int(count) {
            let header = Int(table) + index * programHeaderSize
            guard
                let type = load(UInt32.self, at: header, of: bytes),
                let offset = load(UInt64.self, at: header + 8, of: bytes),
                let size = load(UInt64.self, at: header + 32, of: bytes)
            else { return .truncated }
            let end = offset.addingReportingOverflow(size)
            if type == loadSegment, end.overflow || end.partialValue > bytes.count { return .truncated }
        }
        return nil
    }

    private static func load<Word: FixedWidthInteger & BitwiseCopyable>(
        _: Word.Type,
        at offset: Int,
        of bytes: [UInt8]
    ) -> Word? {
        guard offset >= 0, offset + MemoryLayout<Word>.size <= bytes.count else { return nil }
        return bytes.withUnsafeBytes { Word(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Word.self)) }
    }
}
