import CSpawn
import Core
import Glibc
import PluginProtocol
import Synchronization

/// One of the two sockets between the router and a process: frames in and out, without ever blocking on the other side.
///
/// ``FlushPace`` decides when buffered frames are sent.
final class FrameSocket: Sendable {
    /// The result of reading.
    enum Reading: Sendable { case open, closed }

    /// The result of sending.
    enum Sending: Sendable {
        case sent
        /// The backlog is full.
        case full
        case closed
    }

    private struct Output: ~Copyable {
        var frames = FrameWriter()
        /// How many bytes of `frames` are sent.
        var start = 0
        var pace: FlushPace
        /// The other side currently accepts no data.
        var isBlocked = false
        var isClosed = false

        var backlog: Int { frames.count - start }
    }

    /// The maximum number of bytes per read.
    private static let readRoom = 256 << 10
    /// A larger backlog means that the process does not read.
    private static let longestBacklog = ByteCount.mebibytes(64)
    /// After a read of this many bytes, the next one does not wait for a tick.
    private static let muchInput = 128 << 10
    /// Capacity beyond this is released when it is no longer needed.
    private static let keptRoom = 1 << 20
    private static let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)

    let descriptor: Int32
    /// Becomes readable when the thread that polls the socket must look again.
    let wakeup: Int32
    private let limit: ByteCount
    private let output: Mutex<Output>
    private let input: Mutex<FrameBuffer>
    /// The last read was so large that the other side may be waiting for buffer space.
    private let hasMuchInput = Atomic(false)
    /// The thread that handles frames, so that it does not wait for itself.
    private let reader = Atomic<UInt>(0)

    /// Takes over `descriptor`.
    init(_ descriptor: Int32, taking kinds: Set<FrameKind>, lingers: Bool, limit: ByteCount) {
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

    /// Sends frames, or buffers them. With `mayRefuse` they are dropped if the backlog exceeds its limit.
    func send(_ frames: [UInt8], mayRefuse: Bool = false, now: @autoclosure () -> Deadline = .now()) -> Sending {
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

    /// The same with a frame whose body `body` writes. Nil: it exceeds its limit.
    func send(
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

    /// Sends the added frames if they are due. True: the socket's thread must be woken to do so.
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

    /// The poll events of the socket, and the maximum wait; nil: no limit.
    func interest() -> (events: Int16, milliseconds: Int32?) {
        output.withLock { output in
            if output.isBlocked { return (Int16(POLLIN | POLLOUT), nil) }
            let wait = output.pace.wait
            let readsAtOnce = wait.readsAtOnce || hasMuchInput.load(ordering: .relaxed)
            return (readsAtOnce ? Int16(POLLIN) : 0, wait.milliseconds)
        }
    }

    /// Sends frames that have waited long enough.
    func flushIfDue(now: Deadline, isWritable: Bool) {
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
                // The reading thread notices a broken connection itself.
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

    /// Handles available input without waiting.
    func receive(
        _ handle: (Frame) throws(ProtocolError) -> Void
    ) throws(ProtocolError) -> Reading {
        let thread = UInt(pthread_self())
        // A handler called this again: its frames follow when it has returned.
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

    /// Makes the thread that polls the socket look again.
    func wake() {
        var one: UInt64 = 1
        _ = write(wakeup, &one, 8)
    }

    func clearWakeup() {
        var count: UInt64 = 0
        _ = read(wakeup, &count, 8)
    }

    /// Closes both directions; the other side notices.
    func shut() {
        output.withLock { output in
            output.isClosed = true
            output.frames = FrameWriter()
            output.start = 0
        }
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
        wake()
    }
}

/// Decides when the router sends frames for a process, and when it checks for the process's frames. Pure.
///
/// Waking a process costs more than sending. So a frame is sent immediately only if none was sent within the last
/// millisecond, or few recently: two deliveries that happen to coincide do not wait. After that the socket's thread
/// *ticks*: once per millisecond it sends the collected frames, until a tick finds none. Under high load it ticks every
/// two or four milliseconds, and reads only at its ticks, so that the answers do not wake it: each tick wakes both
/// sides, which costs them about 50 µs.
struct FlushPace: Sendable {
    /// What to do with an added frame.
    enum Step: Sendable, Equatable {
        /// Send it now, with the buffered ones.
        case flush
        /// The socket's thread sends it.
        case wait
        /// The same, but the thread must be woken first.
        case wake
    }

    /// How the socket's thread waits.
    struct Wait: Sendable, Equatable {
        /// Whether input ends it.
        let readsAtOnce: Bool
        /// The maximum; nil: no limit.
        let milliseconds: Int32?
    }

    /// From this many frames in a tick the load counts as high: about 8,000 pushes/s with ticks of 1 ms, and 4,000/s
    /// with ticks of 2 ms. The hysteresis keeps the tick stable.
    private static let many = 16
    /// From this many frames the tick is 4 ms: 32,000 pushes/s, or 16,000/s once the tick is that long.
    private static let veryMany = 128
    /// Up to this many flushes count as few. Each costs `flushCost`, and a steady flow exceeds that.
    private static let burst = 8
    private static let flushCost: Duration = .milliseconds(2)

    /// The current mode of the socket's thread. Input may wait for it only while it ticks.
    private enum Phase: Sendable, Equatable {
        case resting
        case ticking(milliseconds: Int32)
    }

    private let lingers: Bool
    private var flushedAt = Deadline.distantPast
    /// When past flushes no longer count: a token bucket, stored as the time at which it is full again.
    private var forgottenAt = Deadline.distantPast
    private var phase = Phase.resting
    /// Frames since the last flush.
    private var added = 0

    /// A pace that lets frames linger, or sends each immediately.
    init(lingers: Bool) { self.lingers = lingers }

    /// Adds a frame. The clock is read only if its time matters.
    mutating func add(now: @autoclosure () -> Deadline) -> Step {
        added += 1
        guard lingers else { return .flush }
        if case .ticking = phase { return .wait }
        let now = now()
        if now.milliseconds > flushedAt.milliseconds || forgottenAt <= now + Self.flushCost * (Self.burst - 1) {
            flushed(now: now)
            return .flush
        }
        phase = .ticking(milliseconds: 1)
        return .wake
    }

    /// Decides whether the socket's thread must send now. `isAnything`: frames are waiting. There may be none although
    /// many were added, if the other side has freed buffer space.
    mutating func tick(now: Deadline, isAnything: Bool) -> Bool {
        guard case .ticking = phase, now.milliseconds > flushedAt.milliseconds else { return false }
        guard isAnything else {
            phase = .resting
            added = 0
            return false
        }
        phase = .ticking(milliseconds: added < Self.many ? 1 : added < Self.veryMany ? 2 : 4)
        flushed(now: now)
        return true
    }

    /// How the thread waits for its next check.
    var wait: Wait {
        switch phase {
        case .resting: Wait(readsAtOnce: true, milliseconds: nil)
        case .ticking(let milliseconds): Wait(readsAtOnce: milliseconds == 1, milliseconds: milliseconds)
        }
    }

    private mutating func flushed(now: Deadline) {
        flushedAt = now
        forgottenAt = min(max(forgottenAt, now) + Self.flushCost, now + Self.flushCost * Self.burst)
        added = 0
    }
}
