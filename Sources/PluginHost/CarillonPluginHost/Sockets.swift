import CIsolation
import Glibc
import PluginProtocol
import Synchronization

/// The sending side of a socket, shared by all threads.
///
/// The thread that reads the same socket buffers its frames while it handles one read; all others send immediately.
final class SendingSocket: Sendable {
    /// The state under the lock.
    ///
    /// Unchecked: only the lock's holder uses the outbox, except at the end of the process.
    private struct Shell: @unchecked Sendable {
        let outbox: UnsafeMutablePointer<carillon_outbox>
        /// The thread that buffers.
        var collector: pthread_t?
        /// Its memory is reused for each frame.
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

    /// Sends a frame whose body `body` writes. False: it exceeds its limit and is not sent.
    @discardableResult
    func send(_ kind: FrameKind, id: UInt64, _ body: (inout FrameWriter) -> Void) -> Bool {
        shell.withLock { shell in
            guard Self.put(&shell, kind, id, body) else { return false }
            if shell.collector != pthread_self() { Self.flush(shell) }
            return true
        }
    }

    /// Makes the calling thread buffer its frames from now on.
    func collect() { shell.withLock { $0.collector = pthread_self() } }

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
        // The router is gone, so there is no more work.
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
    /// The maximum number of bytes per read.
    private let room: Int
    private var buffer: FrameBuffer

    init(_ descriptor: Int32, taking kinds: Set<FrameKind>, room: Int) {
        self.descriptor = descriptor
        self.room = room
        buffer = FrameBuffer(taking: kinds)
    }

    /// Waits for input, and calls `body` with each complete frame. Ends the process when the socket closes.
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
