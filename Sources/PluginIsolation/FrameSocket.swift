import CSpawn
import Glibc
import PluginProtocol
import Synchronization
import Units

/// One of the two sockets between the router and a process: frames in and out, never waiting for the other side.
///
/// ``FlushPace`` says when what waits is sent.
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

    private struct Output: ~Copyable {
        var frames = FrameWriter()
        /// How many bytes of `frames` are sent.
        var start = 0
        var pace: FlushPace
        /// The other side takes nothing at the moment.
        var isBlocked = false
        var isClosed = false

        var backlog: Int { frames.count - start }
    }

    /// The most bytes of a read.
    private static let readRoom = 256 << 10
    /// More than this waits for no process that can be trusted to read.
    private static let longestBacklog = ByteCount.mebibytes(64)
    /// Bytes of a read from which on the next one does not wait for a tick.
    private static let muchInput = 128 << 10
    /// Room beyond this is given back once it is not needed.
    private static let keptRoom = 1 << 20
    private static let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)

    package let descriptor: Int32
    /// Becomes readable when the thread that polls the socket has to look again.
    package let wakeup: Int32
    private let limit: ByteCount
    private let output: Mutex<Output>
    private let input: Mutex<FrameBuffer>
    /// The last read brought so much that the other side may be waiting for room.
    private let hasMuchInput = Atomic(false)
    /// The thread that handles frames, so that it does not wait for itself.
    private let reader = Atomic<UInt>(0)

    /// Takes over `descriptor`.
    package init(_ descriptor: Int32, taking kinds: Set<FrameKind>, lingers: Bool, limit: ByteCount) {
        self.descriptor = descriptor
        self.limit = limit
        wakeup = carillon_wakeup()
        output = Mutex(Output(pace: FlushPace(lingers: lingers)))
        input = Mutex(FrameBuffer(taking: kinds))
    }

    deinit {
        close(descriptor)
        close(wakeup)
    }

    // MARK: Sending

    /// Sends frames, or keeps them to be sent. `mayRefuse`: not if more than the usual waits.
    package func send(_ frames: [UInt8], mayRefuse: Bool = false, now: @autoclosure () -> Deadline = .now()) -> Sending
    {
        let (result, mustWake) = output.withLock { output -> (Sending, Bool) in
            let most = mayRefuse ? limit : Self.longestBacklog
            guard !output.isClosed else { return (.closed, false) }
            guard output.backlog + frames.count <= most.bytes else { return (.full, false) }
            output.frames.append(frames)
            return (.sent, sendAdded(&output, now))
        }
        if mustWake { wake() }
        return result
    }

    /// The same with a frame whose body `body` writes. Nil: it is longer than it may be.
    package func send(
        _ kind: FrameKind,
        id: UInt64,
        now: @autoclosure () -> Deadline = .now(),
        _ body: (inout FrameWriter) -> Void
    ) -> Sending? {
        let (result, mustWake) = output.withLock { output -> (Sending?, Bool) in
            guard !output.isClosed else { return (.closed, false) }
            guard output.backlog <= Self.longestBacklog.bytes else { return (.full, false) }
            guard output.frames.frame(kind, id: id, body) else { return (nil, false) }
            return (.sent, sendAdded(&output, now))
        }
        if mustWake { wake() }
        return result
    }

    /// Sends what was added, if its time has come. True: the thread of the socket must be woken for it.
    private func sendAdded(_ output: inout Output, _ now: () -> Deadline) -> Bool {
        switch output.pace.add(now: now()) {
        case .wait: return false
        case .wake: return !output.isBlocked
        case .flush:
            guard !output.isBlocked else { return false }
            flush(&output)
            return output.backlog > 0
        }
    }

    /// What the polling thread waits for: the events of the socket, and how long at most; nil: no matter how long.
    package func interest() -> (events: Int16, milliseconds: Int32?) {
        output.withLock { output in
            if output.isBlocked { return (Int16(POLLIN | POLLOUT), nil) }
            let wait = output.pace.wait
            let readsAtOnce = wait.readsAtOnce || hasMuchInput.load(ordering: .relaxed)
            return (readsAtOnce ? Int16(POLLIN) : 0, wait.milliseconds)
        }
    }

    /// Sends what has waited long enough.
    package func flushIfDue(now: Deadline, isWritable: Bool) {
        output.withLock { output in
            if isWritable { output.isBlocked = false }
            let isDue = output.pace.tick(now: now, isAnything: output.backlog > 0) || isWritable
            if isDue, output.backlog > 0, !output.isBlocked { flush(&output) }
        }
    }

    private func flush(_ output: inout Output) {
        while output.backlog > 0 {
            let start = output.start
            let sent = output.frames.withBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
                return Glibc.send(descriptor, rest.baseAddress, rest.count, Self.flags)
            }
            if sent > 0 {
                output.start += sent
            } else if sent < 0, errno == EINTR {
                continue
            } else {
                // Of a broken connection the reading thread learns by itself.
                output.isBlocked = errno == EAGAIN
                if !output.isBlocked { output.frames = FrameWriter() }
                break
            }
        }
        if output.backlog <= 0 {
            if output.frames.count <= Self.keptRoom { output.frames.removeAll() } else { output.frames = FrameWriter() }
            output.start = 0
        } else if output.start > Self.keptRoom {
            output.frames.removeFirst(output.start)
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
                let count = input.receive(Self.readRoom) { recv(descriptor, $0.baseAddress, $0.count, Self.flags) }
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN { return .open }
                guard count > 0 else { return .closed }
                hasMuchInput.store(count >= Self.muchInput, ordering: .relaxed)
                try input.drain(handle)
                if count < Self.readRoom { return .open }
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
            output.frames = FrameWriter()
            output.start = 0
        }
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
        wake()
    }
}
