import Cipher

/// The encrypted form of a backup: a header of 52 bytes, then chunks.
///
/// The header is the 16 bytes `CARILLON-BACKUP1`, the base-2 logarithm of scrypt's N, r (8), p (1), a zero, and a salt
/// of 32 bytes. Each chunk is 64 KiB of plaintext, or fewer at the end, under AES-256-GCM with its tag behind it. Its
/// nonce is its number from 0 in 11 bytes, big-endian, and a byte that is 1 for the last chunk and 0 for the others;
/// its additional data is the header. So no chunk can be left out, moved or put at another's place.
enum SealedFormat {
    static let magic = Array("CARILLON-BACKUP1".utf8)
    static let saltByteCount = 32
    static let headerByteCount = 16 + 4 + saltByteCount
    static let chunkByteCount = 64 << 10
    /// 128 MiB of memory and half a second or so.
    static let usualCost: UInt8 = 17

    static func header(logN: UInt8, salt: [UInt8]) -> [UInt8] { magic + [logN, 8, 1, 0] + salt }

    static func nonce(_ number: UInt64, isLast: Bool) -> [UInt8] {
        [0, 0, 0] + withUnsafeBytes(of: number.bigEndian, Array.init) + [isLast ? 1 : 0]
    }
}

/// Encrypts what is written to it with a passphrase.
package final class SealingSink: ByteSink {
    private let sink: any ByteSink
    private let header: [UInt8]
    private let key: [UInt8]
    private var number: UInt64 = 0
    private var pending: [UInt8] = []

    /// `logN` is scrypt's cost.
    package convenience init(_ sink: any ByteSink, passphrase: [UInt8]) throws {
        try self.init(sink, passphrase: passphrase, logN: SealedFormat.usualCost, random: SecureRandom.bytes)
    }

    init(_ sink: any ByteSink, passphrase: [UInt8], logN: UInt8, random: RandomBytes) throws {
        self.sink = sink
        let salt = random(SealedFormat.saltByteCount)
        header = SealedFormat.header(logN: logN, salt: salt)
        key = try Scrypt.key(passphrase: passphrase, salt: salt, logN: logN)
        try sink.write(header)
    }

    package func write(_ bytes: ArraySlice<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            // The last chunk is known only at the end, so a full one waits for the next byte.
            if pending.count == SealedFormat.chunkByteCount {
                try seal(pending, isLast: false)
                pending.removeAll(keepingCapacity: true)
            }
            let part = rest.prefix(SealedFormat.chunkByteCount - pending.count)
            pending += part
            rest = rest.dropFirst(part.count)
        }
    }

    package func finish() throws {
        try seal(pending, isLast: true)
        pending = []
        try sink.finish()
    }

    private func seal(_ plaintext: [UInt8], isLast: Bool) throws {
        let nonce = SealedFormat.nonce(number, isLast: isLast)
        try sink.write(try AESGCM.seal(plaintext, key: key, nonce: nonce, authenticating: header))
        number += 1
    }
}

/// Decrypts what a ``SealingSink`` wrote. Hands out no byte that is not authentic.
package final class OpeningSource: ByteSource {
    private let source: any ByteSource
    private let header: [UInt8]
    private let key: [UInt8]
    private var number: UInt64 = 0
    private var isAtEnd = false
    /// The beginning of the next chunk.
    private var ahead: [UInt8] = []
    private var plaintext: ArraySlice<UInt8> = []

    /// `source` begins with the header. Throws a ``BackupError`` for a header of another format.
    package init(_ source: any ByteSource, passphrase: [UInt8]) throws {
        self.source = source
        header = try source.readFully(SealedFormat.headerByteCount)
        guard header.count == SealedFormat.headerByteCount else { throw BackupError.truncated }
        let cost = header[16]
        guard header.starts(with: SealedFormat.magic), Scrypt.costs.contains(cost),
            Array(header[17..<20]) == [8, 1, 0]
        else { throw BackupError.damaged("its header is none that this version knows") }
        key = try Scrypt.key(passphrase: passphrase, salt: Array(header[20...]), logN: cost)
    }

    package func read(upTo count: Int) throws -> [UInt8] {
        while plaintext.isEmpty {
            if isAtEnd { return [] }
            try openNext()
        }
        let bytes = Array(plaintext.prefix(count))
        plaintext = plaintext.dropFirst(bytes.count)
        return bytes
    }

    private func openNext() throws {
        // One byte more shows whether this is the last one.
        let wanted = SealedFormat.chunkByteCount + AESGCM.tagByteCount
        var chunk = ahead
        chunk += try source.readFully(wanted + 1 - chunk.count)
        ahead = Array(chunk.dropFirst(wanted))
        chunk = Array(chunk.prefix(wanted))
        let isLast = ahead.isEmpty
        do {
            plaintext = try open(chunk, isLast: isLast)[...]
        } catch {
            if isLast, (try? open(chunk, isLast: false)) != nil { throw BackupError.truncated }
            guard number > 0 else { throw BackupError.wrongPassphrase }
            throw isLast
                ? BackupError.damaged("its end is changed or cut off")
                : BackupError.damaged("bytes from \(Int64(number) * Int64(wanted)) on are changed")
        }
        isAtEnd = isLast
        number += 1
    }

    private func open(_ chunk: [UInt8], isLast: Bool) throws -> [UInt8] {
        let nonce = SealedFormat.nonce(number, isLast: isLast)
        return try AESGCM.open(chunk, key: key, nonce: nonce, authenticating: header)
    }
}
