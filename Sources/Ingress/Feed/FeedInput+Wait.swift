import Glibc

extension FeedInput {
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
