import Glibc
import Units

/// The input of a feed. One thread waits for data, and others can interrupt it.
package struct FeedInput: ~Copyable, Sendable {
    /// What came.
    enum Arrival: Equatable {
        /// So many bytes.
        case bytes(Int)
        case end
        /// All of a spool's file that there is so far was read.
        case pause
        /// Nothing yet: interrupted, or the time is over.
        case nothing
        /// The number of the error.
        case failed(Int32)
    }

    private static let pipeBytes: Int32 = 256 << 10
    /// `F_SETPIPE_SZ`, which Glibc keeps from Swift.
    private static let setPipeSize: Int32 = 1031

    /// As an operator names it.
    package let path: String
    private let descriptor: Int32
    private let isOurs: Bool
    /// Whether a read returns at once where there is nothing: a file's, and that of a FIFO that we opened.
    private let neverBlocks: Bool
    /// What is read where the descriptor only says that there is something.
    private let spool: FeedSpool?
    /// A pipe to ourselves, which ends a wait.
    private let interrupts: Int32
    private let interrupter: Int32

    /// Opens standard input for `-`, else a file, a FIFO or the folder of a spool. A file and standard input end. A
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
        // A pipe that holds as much as is read at once wakes whoever reads a quarter as often. It fails for what is no
        // pipe, and for a user who has many of them.
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

    /// Ends the current wait, or the next one. Any thread.
    func interrupt() {
        // A full pipe holds interrupts enough.
        var byte: UInt8 = 0
        _ = write(interrupter, &byte, 1)
    }

    /// Waits until something comes, somebody interrupts or `time` is over, and reads into `buffer`. With
    /// `reads` false, nothing is read.
    func wait(atMost time: Duration?, reads: Bool, into buffer: UnsafeMutableRawBufferPointer) -> Arrival {
        // A busy writer has written by now, so that the question whether there is something would be one call more.
        if reads, neverBlocks {
            let arrival = read(into: buffer)
            guard arrival == .nothing else { return arrival }
        }
        var descriptors = [
            pollfd(fd: interrupts, events: Int16(POLLIN), revents: 0),
            // A negative number is not waited for.
            pollfd(fd: reads ? descriptor : -1, events: Int16(POLLIN), revents: 0),
        ]
        let timeout = time.map { Int32(clamping: max(0, $0.milliseconds)) } ?? -1
        guard poll(&descriptors, nfds_t(descriptors.count), timeout) > 0 else { return .nothing }
        if descriptors[0].revents != 0 {
            // Those that came while there was always something to read are all in there.
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

    /// Deletes the file of a spool that was read to its end. Call it when all that was read is dealt with.
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
        // What a shell opened for us (`<(…)`) ends, unlike a FIFO.
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

/// Why a feed cannot begin.
package struct FeedError: Error, Sendable, CustomStringConvertible {
    package let description: String

    static func missing(_ path: String) -> FeedError {
        FeedError(
            description: """
                \(path) does not exist; for strfry's hook make a folder: mkdir -m 2770 \(path); for other programs to \
                write into, a FIFO: mkfifo -m 660 \(path)
                """
        )
    }

    static func cannotOpen(_ path: String, _ reason: String) -> FeedError {
        FeedError(description: "cannot open \(path): \(reason)")
    }

    /// A FIFO is held open on both sides, which takes the right to write as well.
    static func cannotOpenFIFO(_ path: String, _ reason: String) -> FeedError {
        FeedError(description: "cannot open the FIFO \(path) for reading and writing, which is needed: \(reason)")
    }

    /// What was read and kept is deleted from a spool, which takes the right to write as well.
    static func cannotOpenFolder(_ path: String, _ reason: String) -> FeedError {
        FeedError(description: "cannot read and delete files in the folder \(path), which is needed: \(reason)")
    }

    static func noFeed(_ path: String) -> FeedError {
        FeedError(description: "\(path) is neither a file, a FIFO nor a folder")
    }

    static func noDescriptor(_ reason: String) -> FeedError {
        FeedError(description: "cannot wait for a feed: \(reason)")
    }
}
