import Core
import Glibc
import Synchronization

/// The input of a feed. One thread waits for data, and others can interrupt it.
package struct FeedInput: ~Copyable, Sendable {
    /// The result of a wait.
    enum Arrival: Equatable {
        /// The number of bytes read.
        case bytes(Int)
        case end
        /// The end of a spool's file, to which a writer may still append.
        case pause
        /// No data: interrupted or timed out.
        case nothing
        /// The value of `errno`.
        case failed(Int32)
    }

    private static let pipeBytes: Int32 = 256 << 10
    /// `F_SETPIPE_SZ`, which Swift does not import from Glibc.
    private static let setPipeSize: Int32 = 1031

    /// The path as the operator wrote it.
    package let path: String
    private let descriptor: Int32
    private let isOurs: Bool
    /// Whether a read returns immediately without data: for a file, and for a FIFO that this type opened.
    private let neverBlocks: Bool
    /// The spool to read, if the descriptor only signals changes.
    private let spool: FeedSpool?
    /// The read end of a pipe to this process, which ends a wait.
    private let interrupts: Int32
    private let interrupter: Int32

    /// Opens standard input for `-`, else a file, a FIFO or the directory of a spool. A file and standard input end. A
    /// FIFO and a spool do not: writers come and go.
    package init(path: String) throws(FeedError) {
        let isOurs = path != "-"
        let spool = isOurs && Self.isFolder(path) ? FeedSpool(path: path) : nil
        let descriptor =
            if let spool { try spool.watch() } else if isOurs { try Self.open(path) } else { STDIN_FILENO }
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            let number = errno
            if isOurs { close(descriptor) }
            throw .noDescriptor(String(cString: strerror(number)))
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        // A pipe that holds as much as one read wakes the reader a quarter as often. The call fails for other
        // descriptors and for a user with many pipes.
        _ = fcntl(descriptor, Self.setPipeSize, Self.pipeBytes)
        self.path = path
        self.descriptor = descriptor
        self.isOurs = isOurs
        self.spool = spool
        neverBlocks = Self.neverBlocks(descriptor)
        (interrupts, interrupter) = (ends[0], ends[1])
    }

    deinit {
        close(interrupts)
        close(interrupter)
        if isOurs { close(descriptor) }
    }

    /// Ends the current wait, or the next one. Callable from any thread.
    func interrupt() {
        // If the pipe is full, an interrupt is already pending.
        var byte: UInt8 = 0
        _ = write(interrupter, &byte, 1)
    }

    /// Waits for data, an interrupt or the end of `time`, and reads into `buffer`. If `reads` is false, it reads no
    /// data.
    func wait(atMost time: Duration?, reads: Bool, into buffer: UnsafeMutableRawBufferPointer) -> Arrival {
        // A busy writer has written by now, so this saves a `poll`.
        if reads, neverBlocks {
            let arrival = read(into: buffer)
            guard arrival == .nothing else { return arrival }
        }
        var descriptors = [
            pollfd(fd: interrupts, events: Int16(POLLIN), revents: 0),
            // `poll` ignores negative descriptors.
            pollfd(fd: reads ? descriptor : -1, events: Int16(POLLIN), revents: 0),
        ]
        let timeout = time.map { Int32(clamping: max(0, $0.milliseconds)) } ?? -1
        guard poll(&descriptors, nfds_t(descriptors.count), timeout) > 0 else { return .nothing }
        if descriptors[0].revents != 0 {
            // Read all interrupts, including those that arrived while data was always available.
            var ignored = [UInt8](repeating: 0, count: 4_096)
            _ = Glibc.read(interrupts, &ignored, ignored.count)
            return .nothing
        }
        if spool != nil {
            var changes = [UInt8](repeating: 0, count: 4_096)
            while Glibc.read(descriptor, &changes, changes.count) > 0 {}
        }
        return read(into: buffer)
    }

    /// Deletes a spool's file that was read to its end. Call it when all events read are processed.
    func discard(isWithinLine: Bool) -> FeedSpool.Ending { spool?.discard(isWithinLine: isWithinLine) ?? .none }

    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Arrival {
        if let spool { return spool.read(into: buffer) }
        let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        if count > 0 { return .bytes(count) }
        if count == 0 { return .end }
        let number = errno
        return number == EINTR || number == EAGAIN ? .nothing : .failed(number)
    }

    private static func neverBlocks(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFREG || fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0
    }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    private static func open(_ path: String) throws(FeedError) -> Int32 {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let number = errno
            throw number == ENOENT ? .missing(path) : .cannotOpen(path, String(cString: strerror(number)))
        }
        switch status.st_mode & S_IFMT {
        // An input that a shell opened (`<(…)`) ends, unlike a FIFO.
        case S_IFIFO where !path.hasPrefix("/dev/"):
            let descriptor = Glibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { throw .cannotOpenFIFO(path, String(cString: strerror(errno))) }
            return descriptor
        case S_IFREG, S_IFCHR, S_IFIFO:
            let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw .cannotOpen(path, String(cString: strerror(errno))) }
            return descriptor
        default:
            throw .noFeed(path)
        }
    }
}

/// An error from opening a feed.
package struct FeedError: Error, Sendable, CustomStringConvertible {
    package let description: String

    static func missing(_ path: String) -> FeedError {
        FeedError(
            description: """
                \(path) does not exist. For strfry's hook, create a directory: mkdir -m 2770 \(path). For other programs, \
                create a FIFO: mkfifo -m 660 \(path)
                """
        )
    }

    static func cannotOpen(_ path: String, _ reason: String) -> FeedError {
        FeedError(description: "cannot open \(path): \(reason)")
    }

    /// A FIFO is opened for both reading and writing, which requires write permission.
    static func cannotOpenFIFO(_ path: String, _ reason: String) -> FeedError {
        FeedError(description: "cannot open the FIFO \(path) for both reading and writing: \(reason)")
    }

    /// Processed files are deleted from a spool, which requires write permission.
    static func cannotOpenFolder(_ path: String, _ reason: String) -> FeedError {
        FeedError(description: "cannot read and delete files in the directory \(path): \(reason)")
    }

    static func noFeed(_ path: String) -> FeedError {
        FeedError(description: "\(path) is neither a file, a FIFO nor a directory")
    }

    static func noDescriptor(_ reason: String) -> FeedError {
        FeedError(description: "cannot wait for a feed: \(reason)")
    }
}

/// Reads a spool: a directory of files of lines that writers append to, and that the router deletes when all their
/// events are processed. So the next process finds events that this one read but did not process.
///
/// Files have numbers as names, and are read in that order. A writer appends whole lines to the last one, and no longer
/// uses a file that is deleted under its lock (`flock`). `contrib/strfry/carillon-feed` is such a writer.
final class FeedSpool: Sendable {
    /// The state of the current file.
    enum Ending {
        /// There is more to read, there is no file, or the file is now deleted.
        case none
        /// A writer holds the lock. Retry soon.
        case busy
        /// The file ends within a line whose writer is gone.
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

    /// `path` is a directory.
    init(path: String) {
        self.path = path
    }

    deinit {
        if let segment = current.withLock({ $0 }) { close(segment.descriptor) }
    }

    /// Returns a descriptor that becomes readable after a change in the directory.
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

    /// Reads more. Reports each end of a file once.
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

    /// Deletes the current file if all of it was read and no writer holds its lock. Call it only when all events read
    /// are processed.
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
            // The writer may already have deleted it to limit the spool's size.
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
            // Writers delete the first file if the spool is too large.
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
