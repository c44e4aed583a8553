import CSpawn
import Glibc
import PluginProtocol
import Synchronization
import Units

/// One of the two sockets between the router and a process: frames in and out, never waiting for the other side.
///
/// What is to be sent goes at once, or lingers up to a millisecond when something went just before: waking the other
/// side costs more than sending.
package final class FrameSocket: Sendable {
    /// What reading came to.
    package enum Reading: Sendable { case open, closed }

    /// What sending came to.
    package enum Sending: Sendable {
        case sent
        /// Too much waits already.
        case full
        case closed
    }

    private struct Output {
        var bytes: [UInt8] = []
        /// What of `bytes` is sent.
        var start = 0
        var flushedAt = Deadline.distantPast
        /// The other side takes nothing at the moment.
        var isBlocked = false
        var isClosed = false

        var backlog: Int { bytes.count - start }
    }

    private struct Input: ~Copyable {
        var buffer: FrameBuffer
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)

        deinit { room.deallocate() }
    }

    /// More than this waits for no process that can be trusted to read.
    private static let longestBacklog = ByteCount.mebibytes(64)
    private static let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)

    package let descriptor: Int32
    /// Becomes readable when the thread that polls the socket has to look again.
    package let wakeup: Int32
    private let lingers: Bool
    private let limit: ByteCount
    private let output = Mutex(Output())
    private let input: Mutex<Input>
    /// The thread that handles frames, so that it does not wait for itself.
    private let reader = Atomic<UInt>(0)

    /// Takes over `descriptor`.
    package init(_ descriptor: Int32, taking kinds: Set<FrameKind>, lingers: Bool, limit: ByteCount) {
        self.descriptor = descriptor
        self.lingers = lingers
        self.limit = limit
        wakeup = carillon_wakeup()
        input = Mutex(Input(buffer: FrameBuffer(taking: kinds)))
    }

    deinit {
        close(descriptor)
        close(wakeup)
    }

    // MARK: Sending

    /// Sends frames, or keeps them to be sent. `mayRefuse`: not if more than the usual waits.
    package func send(_ frames: [UInt8], mayRefuse: Bool = false, now: Deadline = .now()) -> Sending {
        let (result, mustWake) = output.withLock { output -> (Sending, Bool) in
            let most = mayRefuse ? limit : Self.longestBacklog
            guard !output.isClosed else { return (.closed, false) }
            guard output.backlog + frames.count <= most.bytes else { return (.full, false) }
            let wasWaiting = output.backlog > 0
            output.bytes += frames
            if output.isBlocked || (lingers && now.milliseconds <= output.flushedAt.milliseconds) {
                return (.sent, !wasWaiting)
            }
            flush(&output, now)
            return (.sent, output.backlog > 0)
        }
        if mustWake { wake() }
        return result
    }

    /// What the polling thread waits for: the events of the socket, and how long at most; nil: no matter how long.
    package func interest() -> (events: Int16, milliseconds: Int32?) {
        output.withLock { output in
            guard output.backlog > 0 else { return (Int16(POLLIN), nil) }
            return output.isBlocked ? (Int16(POLLIN | POLLOUT), nil) : (Int16(POLLIN), 1)
        }
    }

    /// Sends what has waited long enough.
    package func flushIfDue(now: Deadline, isWritable: Bool) {
        output.withLock { output in
            if isWritable { output.isBlocked = false }
            guard output.backlog > 0, !output.isBlocked, now.milliseconds > output.flushedAt.milliseconds || isWritable
            else { return }
            flush(&output, now)
        }
    }

    private func flush(_ output: inout Output, _ now: Deadline) {
        output.flushedAt = now
        while output.backlog > 0 {
            let sent = output.bytes.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[output.start...])
                return Glibc.send(descriptor, rest.baseAddress, rest.count, Self.flags)
            }
            if sent > 0 {
                output.start += sent
            } else if sent < 0, errno == EINTR {
                continue
            } else {
                // Of a broken connection the reading thread learns by itself.
                output.isBlocked = errno == EAGAIN
                if !output.isBlocked { output.bytes = [] }
                break
            }
        }
        if output.backlog <= 0 {
            output.bytes.removeAll(keepingCapacity: output.bytes.capacity <= 1 << 20)
            output.start = 0
        } else if output.start > 1 << 20 {
            output.bytes.removeFirst(output.start)
            output.start = 0
        }
    }

    // MARK: Receiving

    /// Handles what has arrived, without waiting.
    package func receive(
        _ handle: (Frame) throws(ProtocolError) -> Void
    ) throws(ProtocolError) -> Reading {
        let thread = UInt(pthread_self())
        // A handler that leads back here: its frames come when it has returned.
        guard reader.load(ordering: .relaxed) != thread else { return .open }
        return try input.withLock { input throws(ProtocolError) -> Reading in
            reader.store(thread, ordering: .relaxed)
            defer { reader.store(0, ordering: .relaxed) }
            while true {
                let count = recv(descriptor, input.room.baseAddress, input.room.count, Self.flags)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN { return .open }
                guard count > 0 else { return .closed }
                input.buffer.append(UnsafeRawBufferPointer(rebasing: input.room[..<count]))
                try input.buffer.drain(handle)
                if count < input.room.count { return .open }
            }
        }
    }

    // MARK: Ending

    /// Lets the thread that polls the socket look again.
    package func wake() {
        var one: UInt64 = 1
        _ = write(wakeup, &one, 8)
    }

    package func clearWakeup() {
        var count: UInt64 = 0
        _ = read(wakeup, &count, 8)
    }

    /// Nothing goes out or comes in any more; the other side learns it.
    package func shut() {
        output.withLock { output in
            output.isClosed = true
            output.bytes = []
            output.start = 0
        }
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
        wake()
    }
}
