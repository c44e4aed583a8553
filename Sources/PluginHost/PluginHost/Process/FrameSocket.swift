import CSpawn
import Core
import Glibc
import PluginProtocol
import Synchronization

/// One of the two sockets between the router and a process: frames in and out, never waiting for the other side.
///
/// ``FlushPace`` says when what waits is sent.
final class FrameSocket: Sendable {
    /// What reading came to.
    enum Reading: Sendable { case open, closed }

    /// What sending came to.
    enum Sending: Sendable {
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

    let descriptor: Int32
    /// Becomes readable when the thread that polls the socket has to look again.
    let wakeup: Int32
    private let limit: ByteCount
    private let output: Mutex<Output>
    private let input: Mutex<FrameBuffer>
    /// The last read brought so much that the other side may be waiting for room.
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

    /// Sends frames, or keeps them to be sent. `mayRefuse`: not if more than the usual waits.
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

    /// The same with a frame whose body `body` writes. Nil: it is longer than it may be.
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
    func interest() -> (events: Int16, milliseconds: Int32?) {
        output.withLock { output in
            if output.isBlocked { return (Int16(POLLIN | POLLOUT), nil) }
            let wait = output.pace.wait
            let readsAtOnce = wait.readsAtOnce || hasMuchInput.load(ordering: .relaxed)
            return (readsAtOnce ? Int16(POLLIN) : 0, wait.milliseconds)
        }
    }

    /// Sends what has waited long enough.
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
    func receive(
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
    func wake() {
        var one: UInt64 = 1
        _ = write(wakeup, &one, 8)
    }

    func clearWakeup() {
        var count: UInt64 = 0
        _ = read(wakeup, &count, 8)
    }

    /// Nothing goes out or comes in any more; the other side learns it.
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

/// When the router sends the frames that wait for a process, and when it looks for what the process has sent. Pure.
///
/// Waking a process costs more than sending. So a frame goes at once only if nothing went within the last millisecond,
/// or if few went lately: two deliveries that happen to come together wait for nothing. After that the thread of the
/// socket *ticks*: it sends once a millisecond what has come together, until a tick finds nothing. While much comes
/// together it ticks every two or four milliseconds, and reads at its ticks alone, so that the answers do not wake it:
/// each tick wakes both sides, which costs them some 50 µs.
struct FlushPace: Sendable {
    /// What becomes of a frame that was added.
    enum Step: Sendable, Equatable {
        /// Send it now, with what waits.
        case flush
        /// The thread of the socket sends it.
        case wait
        /// The same, but the thread must be woken first.
        case wake
    }

    /// How the thread of the socket waits.
    struct Wait: Sendable, Equatable {
        /// Whether input ends it.
        let readsAtOnce: Bool
        /// At most; nil: as long as nothing happens.
        let milliseconds: Int32?
    }

    /// So many frames in a tick are many: about 8,000 pushes a second while it ticks every millisecond, and 4,000 while
    /// it ticks every two, so that the tick does not change all the time.
    private static let many = 16
    /// So many are worth a tick of four milliseconds: 32,000 pushes a second, or 16,000 while it is as long already.
    private static let veryMany = 128
    /// So many flushes are few. Each counts for `flushCost`, and a steady flow is more than that.
    private static let burst = 8
    private static let flushCost: Duration = .milliseconds(2)

    /// What the thread of the socket does by itself. Only while it ticks may input wait for it.
    private enum Phase: Sendable, Equatable {
        case resting
        case ticking(milliseconds: Int32)
    }

    private let lingers: Bool
    private var flushedAt = Deadline.distantPast
    /// When the flushes until now count no more: a token bucket by the time at which it is full again.
    private var forgottenAt = Deadline.distantPast
    private var phase = Phase.resting
    /// Frames since the last flush.
    private var added = 0

    /// A pace that lets frames linger, or sends each at once.
    init(lingers: Bool) { self.lingers = lingers }

    /// A frame was added. The clock is read only where its time matters.
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

    /// The thread of the socket looks: whether it is to send what waits. `isAnything`: something does. Nothing may wait
    /// although much was added, where the other side has made room meanwhile.
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

    /// How the thread waits for its next look.
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
