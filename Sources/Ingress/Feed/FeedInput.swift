import Glibc

/// Where events are fed from. One thread waits there, and others can call it away.
package struct FeedInput: ~Copyable, Sendable {
    /// As an operator names it.
    package let path: String
    let descriptor: Int32
    private let isOurs: Bool
    /// A pipe to ourselves, which ends a wait.
    let calls: Int32
    private let caller: Int32

    /// Opens standard input for `-`, else a file or a FIFO. A file and standard input end; a FIFO does not: it is held open for
    /// writers to come and go.
    package init(path: String) throws(FeedError) {
        let isOurs = path != "-"
        let descriptor = isOurs ? try Self.open(path) : STDIN_FILENO
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
        self.path = path
        self.descriptor = descriptor
        self.isOurs = isOurs
        (calls, caller) = (ends[0], ends[1])
    }

    deinit {
        close(calls)
        close(caller)
        if isOurs { close(descriptor) }
    }

    /// Ends the wait that is under way, or the next one. Any thread.
    func callAway() {
        // Where the pipe is full there are calls enough.
        var call: UInt8 = 0
        _ = write(caller, &call, 1)
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
            throw .neitherFileNorFIFO(path)
        }
    }
}
