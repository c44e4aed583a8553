import Glibc

/// A file descriptor that one thread waits at, and that others can call away from there.
struct WakeableInput: ~Copyable {
    /// What came.
    enum Arrival: Equatable {
        /// So many bytes.
        case bytes(Int)
        case end
        /// Nothing yet: called away, or the time is over.
        case nothing
        /// The number of the error.
        case failed(Int32)
    }

    private let descriptor: Int32
    private let closes: Bool
    /// A pipe to ourselves.
    private let calls: Int32
    private let caller: Int32

    /// Waits at `descriptor`, and closes it in the end where `closes` says so.
    init(_ descriptor: Int32, closes: Bool) throws(FeedError) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            let number = errno
            if closes { close(descriptor) }
            throw .noDescriptor(String(cString: strerror(number)))
        }
        (calls, caller) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        self.descriptor = descriptor
        self.closes = closes
    }

    deinit {
        close(calls)
        close(caller)
        if closes { close(descriptor) }
    }

    /// Ends the wait that is under way, or the next one. Any thread.
    func callAway() {
        // Where the pipe is full there are calls enough.
        var call: UInt8 = 0
        _ = write(caller, &call, 1)
    }

    /// Waits until something comes, somebody calls or `milliseconds` are over, and reads into `buffer`. With `reads` false it
    /// leaves alone what comes.
    func wait(milliseconds: Int64?, reads: Bool, into buffer: UnsafeMutableRawBufferPointer) -> Arrival {
        var descriptors = [
            pollfd(fd: calls, events: Int16(POLLIN), revents: 0),
            // A negative number is not waited for.
            pollfd(fd: reads ? descriptor : -1, events: Int16(POLLIN), revents: 0),
        ]
        let timeout = milliseconds.map { Int32(clamping: max(0, $0)) } ?? -1
        guard poll(&descriptors, nfds_t(descriptors.count), timeout) > 0 else { return .nothing }
        if descriptors[0].revents != 0 {
            var heard = [UInt8](repeating: 0, count: 64)
            _ = read(calls, &heard, heard.count)
            return .nothing
        }
        let count = read(descriptor, buffer.baseAddress, buffer.count)
        if count > 0 { return .bytes(count) }
        if count == 0 { return .end }
        let number = errno
        return number == EINTR || number == EAGAIN ? .nothing : .failed(number)
    }
}
