// For `stat`, which the other imports do not always provide.
import CDispatch
import Cipher
import Glibc

/// A plugin's file, read once. It is trusted, hashed, and either a complete shared object for this machine or Python.
package struct PluginFile: Sendable {
    private static let sizeLimit = 256 << 20

    /// Absolute, symbolic links resolved.
    package let path: String
    let identity: FileIdentity
    /// 64 hex digits in lower case.
    let sha256: String

    package init(_ candidate: PluginCandidate, pin: String?) throws(PluginLoadError) {
        do {
            try self.init(resolving: candidate.path, isPython: candidate.isPython, pin: pin)
        } catch {
            throw PluginLoadError(path: candidate.path, reason: error)
        }
    }

    private init(resolving name: String, isPython: Bool, pin: String?) throws(PluginLoadError.Reason) {
        guard let resolved = realpath(name, nil) else { throw .unreadable(String(cString: strerror(errno))) }
        defer { free(resolved) }
        let path = String(cString: resolved)
        let parent = path.lastIndex(of: "/").map { path[..<$0] } ?? ""
        let folder = parent.isEmpty ? "/" : String(parent)
        if let reason = FileTrust.distrust(ofFolder: folder) { throw reason }

        // Non-blocking: opening a FIFO with the name x.so must not hang the router.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadable(String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unreadable(String(cString: strerror(errno))) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
        if let reason = FileTrust.distrust(of: status, at: path) { throw reason }
        guard status.st_size <= Self.sizeLimit else { throw .tooLarge }

        let bytes = try Self.read(descriptor, size: Int(status.st_size))
        self.path = path
        identity = FileIdentity(status)
        sha256 = Hex.encode(SHA256.hash(bytes))
        if let pin, pin.lowercased() != sha256 { throw .wrongPin }
        if isPython {
            if bytes.isEmpty { throw .empty }
        } else if let flaw = ELFImage.flaw(in: bytes) {
            throw flaw
        }
    }

    private static func read(_ descriptor: Int32, size: Int) throws(PluginLoadError.Reason) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size, let base = buffer.baseAddress {
                let got = Glibc.read(descriptor, base + count, size - count)
                if got < 0, errno == EINTR { continue }
                if got < 0 { failure = errno }
                if got <= 0 { break }
                count += got
            }
        }
        guard failure == 0 else { throw .unreadable(String(cString: strerror(failure))) }
        return bytes
    }
}

/// The identity of a file regardless of its name; the dynamic linker compares the same.
struct FileIdentity: Sendable, Hashable {
    private let device: UInt64
    private let inode: UInt64

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// Follows links; nil if there is no file.
    init?(ofFileAt path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}

/// The owner and permissions that a file needs before its code runs in a plugin process.
enum FileTrust {
    /// Why the directory at `path` cannot be trusted, or nil.
    static func distrust(ofFolder path: String) -> PluginLoadError.Reason? {
        var status = stat()
        guard stat(path, &status) == 0 else { return .unreadable(String(cString: strerror(errno))) }
        guard status.st_mode & S_IFMT == S_IFDIR else { return .unreadable("it is not a directory") }
        return distrust(of: status, at: path)
    }

    /// Why a file with this `status` cannot be trusted, or nil.
    static func distrust(of status: stat, at path: String) -> PluginLoadError.Reason? {
        guard status.st_uid == 0 || status.st_uid == geteuid() else {
            return .foreignOwner(path, owner: status.st_uid)
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else { return .writableByOthers(path) }
        return nil
    }
}

/// Checks a file before the dynamic linker maps it: glibc maps a truncated file and dies of SIGBUS when it touches the
/// missing pages.
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

    /// Why `bytes` are not a complete 64-bit little-endian shared object for this machine, or nil.
    static func flaw(in bytes: [UInt8]) -> PluginLoadError.Reason? {
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
