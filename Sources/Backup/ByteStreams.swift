import Glibc

/// Where bytes go, one part after the other.
package protocol ByteSink: AnyObject {
    func write(_ bytes: ArraySlice<UInt8>) throws
    /// To be called once, after the last part.
    func finish() throws
}

extension ByteSink {
    package func write(_ bytes: [UInt8]) throws { try write(bytes[...]) }
}

/// Where bytes come from, one part after the other.
package protocol ByteSource: AnyObject {
    /// The next bytes, at most `count` and at least one; none at the end.
    func read(upTo count: Int) throws -> [UInt8]
}

extension ByteSource {
    /// The next `count` bytes; fewer at the end.
    func readFully(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let part = try read(upTo: count - bytes.count)
            if part.isEmpty { break }
            bytes += part
        }
        return bytes
    }
}

/// An open file as a sink and a source. Closes it at its own end.
package final class FileStream: ByteSink, ByteSource {
    private let descriptor: Int32
    private let path: String

    /// Opens a file to be read. Throws a ``BackupError``.
    package init(reading path: String) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        self.path = path
        guard descriptor >= 0 else { throw Self.failure("read", path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            throw BackupError("cannot read \(path): it is a folder")
        }
    }

    /// Makes a file that only this user can read and that must not be there yet. Throws a ``BackupError``.
    package init(creating path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        self.path = path
        guard descriptor >= 0 else { throw Self.failure("make", path) }
        // Tells ``removeRemains(of:)`` that it is being written.
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    /// Removes what a killed process left of a file that it was making. Throws a ``BackupError`` while another process
    /// makes it.
    package static func removeRemains(of path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw BackupError("\(path) is being written by another process")
        }
        unlink(path)
    }

    /// Writes to standard output, which stays open.
    package init(standardOutput: Void) throws {
        descriptor = dup(STDOUT_FILENO)
        path = "standard output"
        guard descriptor >= 0 else { throw Self.failure("write to", path) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    package func read(upTo count: Int) throws -> [UInt8] {
        guard count > 0 else { return [] }
        while true {
            var result = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
                result = Glibc.read(descriptor, buffer.baseAddress, count)
                initialized = max(0, result)
            }
            if result >= 0 { return bytes }
            guard errno == EINTR else { throw Self.failure("read", path) }
        }
    }

    package func write(_ bytes: ArraySlice<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                guard errno == EINTR else { throw Self.failure("write", path) }
                continue
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Flushes the file to the disk; nothing where it is no file.
    package func finish() throws {
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS else { throw Self.failure("write", path) }
    }

    private static func failure(_ verb: String, _ path: String) -> BackupError {
        BackupError("cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }
}
