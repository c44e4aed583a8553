import Glibc

/// Where events are fed from.
package struct FeedInput: Sendable {
    /// As an operator names it.
    package let path: String
    let descriptor: Int32
    let closes: Bool

    /// Standard input for `-`, else a file or a FIFO. A file and standard input end; a FIFO does not: it is held open for
    /// writers to come and go.
    package init(path: String) throws(FeedError) {
        self.path = path
        guard path != "-" else {
            descriptor = STDIN_FILENO
            closes = false
            return
        }
        closes = true
        var status = stat()
        guard stat(path, &status) == 0 else {
            let number = errno
            throw number == ENOENT ? .missing(path) : .cannotOpen(path, String(cString: strerror(number)))
        }
        switch status.st_mode & S_IFMT {
        // What a shell opened for us (`<(…)`) ends, unlike a FIFO.
        case S_IFIFO where !path.hasPrefix("/dev/"):
            descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { throw .cannotOpenFIFO(path, String(cString: strerror(errno))) }
        case S_IFREG, S_IFCHR, S_IFIFO:
            descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw .cannotOpen(path, String(cString: strerror(errno))) }
        default:
            throw .neitherFileNorFIFO(path)
        }
    }
}
