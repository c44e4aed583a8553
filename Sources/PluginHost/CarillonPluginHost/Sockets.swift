import CIsolation
import Glibc
import PluginProtocol
import Synchronization

/// The sending side of a socket, which all threads share.
///
/// The thread that reads the same socket collects what it sends while it handles one read; every other sends at once.
final class SendingSocket: Sendable {
    /// What the lock holds.
    ///
    /// Unchecked: only who holds the lock uses the outbox, but for the end of the process.
    private struct Shell: @unchecked Sendable {
        let outbox: UnsafeMutablePointer<carillon_outbox>
        /// The thread that collects.
        var collector: pthread_t?
        /// Its room is used for each frame.
        var writer = FrameWriter()
    }

    private let shell: Mutex<Shell>

    init(_ descriptor: Int32, isSentAtEnd: Bool) {
        let outbox = UnsafeMutablePointer<carillon_outbox>.allocate(capacity: 1)
        outbox.pointee.fd = descriptor
        outbox.pointee.is_sending = 0
        outbox.pointee.count = 0
        if isSentAtEnd { carillon_send_outbox_at_end(outbox) }
        shell = Mutex(Shell(outbox: outbox))
    }

    /// Sends a frame whose body `body` writes. False: it is longer than it may be, and not sent.
    @discardableResult
    func send(_ kind: FrameKind, id: UInt64, _ body: (inout FrameWriter) -> Void) -> Bool {
        shell.withLock { shell in
            guard Self.put(&shell, kind, id, body) else { return false }
            if shell.collector != pthread_self() { Self.flush(shell) }
            return true
        }
    }

    /// The calling thread collects from now on what it sends.
    func collect() { shell.withLock { $0.collector = pthread_self() } }

    /// Sends what has been collected.
    func flush() { shell.withLock { Self.flush($0) } }

    private static func put(
        _ shell: inout Shell,
        _ kind: FrameKind,
        _ id: UInt64,
        _ body: (inout FrameWriter) -> Void
    ) -> Bool {
        shell.writer.removeAll()
        guard shell.writer.frame(kind, id: id, body) else { return false }
        let outbox = shell.outbox
        // The router is gone: nobody is left to serve.
        guard shell.writer.withBytes({ carillon_put_into_outbox(outbox, $0.baseAddress, $0.count) }) == 0 else {
            Process.end()
        }
        return true
    }

    private static func flush(_ shell: Shell) {
        guard shell.outbox.pointee.count > 0 else { return }
        guard carillon_send_outbox(shell.outbox) == 0 else { Process.end() }
    }
}

/// The receiving side of a socket, for one thread.
struct ReceivingSocket: ~Copyable {
    private let descriptor: Int32
    /// The most bytes of a read.
    private let room: Int
    private var buffer: FrameBuffer

    init(_ descriptor: Int32, taking kinds: Set<FrameKind>, room: Int) {
        self.descriptor = descriptor
        self.room = room
        buffer = FrameBuffer(taking: kinds)
    }

    /// Waits for what comes next, and hands out each frame that is whole by now. Ends the process with the socket.
    mutating func receive(_ body: (Frame) throws(ProtocolError) -> Void) {
        let descriptor = descriptor
        let count = buffer.receive(room) { read(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { return }
        guard count > 0 else { Process.end() }
        do throws(ProtocolError) {
            try buffer.drain(body)
        } catch {
            Process.fail("the router: \(error)")
        }
    }
}
