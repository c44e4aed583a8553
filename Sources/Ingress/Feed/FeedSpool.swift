import Glibc
import Synchronization

/// Reads a spool: a folder of files of lines that writers append to, and that we delete when all in them is dealt with.
/// So what a router had read and not kept is there for the next one.
///
/// Files have numbers as names, and are read in that order. A writer appends to the last one whole lines, and a file
/// that is deleted under its lock (`flock`) is none that it goes on with. `contrib/strfry/carillon-feed` is one.
final class FeedSpool: Sendable {
    /// What can be said of the file that is read.
    enum Ending {
        /// There is more to read, or no file, or it is deleted now.
        case none
        /// A writer is at it. Ask again soon.
        case busy
        /// It ends within a line whose writer is gone.
        case halfLine
    }

    private struct Segment {
        let name: String
        let descriptor: Int32
        var position = 0
        /// Whether the last read found its end.
        var isAtEnd = false
    }

    private let path: String
    private let current = Mutex<Segment?>(nil)

    /// `path` is a folder.
    init(path: String) {
        self.path = path
    }

    deinit {
        if let segment = current.withLock({ $0 }) { close(segment.descriptor) }
    }

    /// A descriptor that can be read from after something in the folder has changed.
    func watch() throws(FeedError) -> Int32 {
        guard access(path, R_OK | W_OK | X_OK) == 0 else {
            throw .cannotOpenFolder(path, String(cString: strerror(errno)))
        }
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { throw .noDescriptor(String(cString: strerror(errno))) }
        guard inotify_add_watch(descriptor, path, UInt32(IN_CREATE | IN_MODIFY | IN_MOVED_TO)) >= 0 else {
            let number = errno
            close(descriptor)
            throw .cannotOpenFolder(path, String(cString: strerror(number)))
        }
        return descriptor
    }

    /// Reads on. Says once of each end of a file that it is reached.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> FeedInput.Arrival {
        current.withLock { current in
            do throws(SystemError) {
                if current == nil { current = try first() }
                guard var segment = current else { return .nothing }
                defer { current = segment }
                let count = Glibc.read(segment.descriptor, buffer.baseAddress, buffer.count)
                guard count >= 0 else { return errno == EINTR ? .nothing : .failed(errno) }
                let wasAtEnd = segment.isAtEnd
                segment.position += count
                segment.isAtEnd = count == 0
                if count > 0 { return .bytes(count) }
                return wasAtEnd ? .nothing : .pause
            } catch {
                return .failed(error.number)
            }
        }
    }

    /// Deletes the file that is read, if all of it was read and nobody is writing. Call it only when all that was read
    /// is dealt with.
    func discard(isWithinLine: Bool) -> Ending {
        current.withLock { current in
            guard let segment = current, segment.isAtEnd else { return .none }
            guard flock(segment.descriptor, LOCK_EX | LOCK_NB) == 0 else { return .busy }
            var status = stat()
            guard fstat(segment.descriptor, &status) == 0, Int(status.st_size) <= segment.position else {
                _ = flock(segment.descriptor, LOCK_UN)
                current?.isAtEnd = false
                return .none
            }
            guard !isWithinLine else {
                _ = flock(segment.descriptor, LOCK_UN)
                return .halfLine
            }
            // The writer may have done so because there was too much.
            if status.st_nlink > 0 { unlink("\(path)/\(segment.name)") }
            close(segment.descriptor)
            current = nil
            return .none
        }
    }

    private struct SystemError: Error {
        let number: Int32
    }

    private func first() throws(SystemError) -> Segment? {
        while let name = try names().min(by: { ($0.count, $0) < ($1.count, $1) }) {
            let descriptor = open("\(path)/\(name)", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            if descriptor >= 0 { return Segment(name: name, descriptor: descriptor) }
            // Writers delete the first file when there is too much.
            guard errno == ENOENT else { throw SystemError(number: errno) }
        }
        return nil
    }

    private func names() throws(SystemError) -> [String] {
        guard let folder = opendir(path) else { throw SystemError(number: errno) }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) { names.append(name) }
        }
        return names
    }
}
