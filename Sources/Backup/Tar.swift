/// One file in a tar archive (POSIX.1-1988 ustar).
package struct TarEntry: Hashable, Sendable {
    package var name: String
    package var size: Int64

    static let blockByteCount = 512

    /// How many zeros follow the content.
    var padding: Int { Int((512 - size % 512) % 512) }

    /// `modified` is in seconds since 1970. `name` has at most 100 bytes.
    func header(modified: Int64) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.blockByteCount)
        func put(_ text: String, at offset: Int) {
            for (index, byte) in text.utf8.enumerated() { block[offset + index] = byte }
        }
        put(name, at: 0)
        put("0000600", at: 100)
        put("0000000", at: 108)
        put("0000000", at: 116)
        if size < 1 << 33 {
            put(Self.octal(size, digits: 11), at: 124)
        } else {
            // GNU's form of larger numbers, which every tar reads.
            block[124] = 0x80
            for index in 0..<8 { block[135 - index] = UInt8(truncatingIfNeeded: size >> (8 * Int64(index))) }
        }
        put(Self.octal(modified, digits: 11), at: 136)
        put("0", at: 156)
        put("ustar", at: 257)
        put("00", at: 263)
        put("root", at: 265)
        put("root", at: 297)
        put(Self.octal(Self.checksum(block), digits: 6), at: 148)
        block[155] = 0x20
        return block
    }

    /// Nil for the zeros of the end. Throws a ``BackupError`` for anything but a plain file.
    init?(header block: [UInt8]) throws {
        guard block.count == Self.blockByteCount else { throw BackupError.truncated }
        if block.allSatisfy({ $0 == 0 }) { return nil }
        guard block[257..<262].elementsEqual("ustar".utf8),
            Self.number(block[148..<155]) == Self.checksum(block)
        else { throw BackupError.damaged("it has no tar header where one is due") }
        guard block[156] == UInt8(ascii: "0") else { throw BackupError.damaged("it holds something that is no file") }
        let bytes = block[..<100].prefix { $0 != 0 }
        guard let name = String(validating: bytes, as: UTF8.self), let size = Self.size(block[124..<136]) else {
            throw BackupError.damaged("the name or size of a file in it cannot be read")
        }
        self.init(name: name, size: size)
    }

    package init(name: String, size: Int64) {
        self.name = name
        self.size = size
    }

    private static func size(_ field: ArraySlice<UInt8>) -> Int64? {
        guard field.first == 0x80 else { return number(field) }
        guard field.dropFirst().prefix(3).allSatisfy({ $0 == 0 }) else { return nil }
        let value = field.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int64(exactly: value)
    }

    private static func number(_ field: ArraySlice<UInt8>) -> Int64? {
        let digits = field.prefix { (0x30...0x37).contains($0) }
        guard !digits.isEmpty, field.dropFirst(digits.count).allSatisfy({ $0 == 0 || $0 == 0x20 }) else { return nil }
        return digits.reduce(0) { $0 << 3 | Int64($1 - 0x30) }
    }

    /// The sum of the header's bytes, with spaces in the sum's own place.
    private static func checksum(_ block: [UInt8]) -> Int64 {
        block.enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 0x20 : Int64($1.element)) }
    }

    private static func octal(_ number: Int64, digits: Int) -> String {
        let text = String(max(0, number), radix: 8)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

/// Writes a tar archive, one file after the other.
final class TarWriter {
    private let sink: any ByteSink
    private let modified: Int64

    /// `modified` is the time of all files, in seconds since 1970.
    init(_ sink: any ByteSink, modified: Int64) {
        self.sink = sink
        self.modified = modified
    }

    func add(_ name: String, _ content: [UInt8]) throws {
        let entry = TarEntry(name: name, size: Int64(content.count))
        try sink.write(entry.header(modified: modified))
        try sink.write(content)
        try sink.write([UInt8](repeating: 0, count: entry.padding))
    }

    /// Adds all that `source` has, which must be `size` bytes. Calls `progress` with the length of each part.
    func add(_ name: String, size: Int64, from source: any ByteSource, progress: (Int) -> Void) throws {
        let entry = TarEntry(name: name, size: size)
        try sink.write(entry.header(modified: modified))
        var written: Int64 = 0
        while true {
            let part = try source.read(upTo: 1 << 20)
            if part.isEmpty { break }
            written += Int64(part.count)
            guard written <= size else { break }
            try sink.write(part)
            progress(part.count)
        }
        guard written == size else { throw BackupError("\(name) changed its size while it was copied: try again") }
        try sink.write([UInt8](repeating: 0, count: entry.padding))
    }

    /// Writes the archive's end.
    func finish() throws {
        try sink.write([UInt8](repeating: 0, count: 2 * TarEntry.blockByteCount))
        try sink.finish()
    }
}

/// Reads a tar archive that a ``TarWriter`` wrote, and no other kind.
final class TarReader {
    private let source: any ByteSource
    private var rest: Int64 = 0
    private var padding = 0

    init(_ source: any ByteSource) {
        self.source = source
    }

    /// The next file; nil at the end. The one before must have been read to its end.
    func next() throws -> TarEntry? {
        precondition(rest == 0, "the file before is read to its end")
        if padding > 0 {
            let zeros = try source.readFully(padding)
            guard zeros.count == padding else { throw BackupError.truncated }
            guard zeros.allSatisfy({ $0 == 0 }) else { throw BackupError.damaged("there are bytes between its files") }
        }
        guard let entry = try TarEntry(header: source.readFully(TarEntry.blockByteCount)) else {
            try readEnd()
            return nil
        }
        (rest, padding) = (entry.size, entry.padding)
        return entry
    }

    /// The next bytes of the current file; none at its end.
    func read() throws -> [UInt8] {
        guard rest > 0 else { return [] }
        let bytes = try source.read(upTo: Int(min(rest, 1 << 20)))
        guard !bytes.isEmpty else { throw BackupError.truncated }
        rest -= Int64(bytes.count)
        return bytes
    }

    private func readEnd() throws {
        let end = try source.readFully(TarEntry.blockByteCount)
        guard end.count == TarEntry.blockByteCount else { throw BackupError.truncated }
        guard end.allSatisfy({ $0 == 0 }), try source.read(upTo: 1).isEmpty else {
            throw BackupError.damaged("there are bytes behind its end")
        }
    }
}
