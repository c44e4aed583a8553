import NIOCore
import Units

/// The client's side of one HTTP/2 connection (RFC 9113), bytes in and bytes out.
///
/// Belongs to one event loop. Each request that `submit` took comes out of `nextFinished` once, whatever frames a peer
/// invents.
final class HTTP2Session {
    /// What became of a request.
    enum Finished {
        case answered(Exchange, HTTPResponse)
        /// The peer has not processed it; it may be sent again at once.
        case refused(Exchange)
        case failed(Exchange, HTTPFailure)
    }

    /// What an answer's header fields may take together, in bytes, as RFC 9113 counts them.
    static let headerLimit = 65_536

    private var machine: HTTP2Machine

    /// Queues the connection preface and this side's SETTINGS; nil without memory.
    init?(streamLimit: Int) {
        guard let machine = HTTP2Machine(streamLimit: streamLimit) else { return nil }
        self.machine = machine
    }

    var budget: StreamBudget { machine.budget }

    /// How many requests the peer has answered.
    var answered: Int { machine.answered }

    /// Whether the connection has nothing left to say or to hear.
    var isOver: Bool { machine.isOver }

    /// Opens a stream for `exchange`; its frames go out with the next `pump`. False when no stream can be opened, with
    /// nothing done.
    func submit(_ exchange: Exchange, now: Deadline) -> Bool { machine.submit(exchange, now: now) }

    /// The next request that has come to an end, in their order.
    func nextFinished() -> Finished? { machine.nextFinished() }

    /// Gives up requests whose deadline has passed: their streams are reset and they finish as timed out. Returns the
    /// soonest deadline left, and when the earliest of those given up had been sent.
    func expire(now: Deadline) -> (nextDeadline: Deadline?, earliestSubmission: Deadline?) { machine.expire(now: now) }

    /// Sends a PING with the next `pump`.
    func ping() { machine.ping() }

    /// Says GOAWAY with the next `pump`, and nothing after it.
    func sayGoodbye() { machine.sayGoodbye() }

    /// The connection is gone: every open stream finishes, as refused where the peer has said or cannot but have left
    /// it unprocessed, else as failed for `reason`. No byte goes in or out any more.
    func abandon(_ reason: HTTPFailure.Reason) { machine.abandon(reason) }

    /// Appends frames to `buffer` until it holds about `size` bytes. True when there may be more.
    func pump(into buffer: inout ByteBuffer, upTo size: Int) -> Bool { machine.pump(into: &buffer, upTo: size) }

    /// Looks through what is about to be given to ``receive(_:)`` for more room for requests. True when some that
    /// waited for it can go out before the answers are read.
    func findsRoom(in bytes: UnsafeRawBufferPointer) -> Bool { machine.findsRoom(in: bytes) }

    /// Takes in what the peer sent. False when the connection is beyond repair; what to tell the peer about it goes out
    /// with the next `pump`.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool { machine.receive(bytes) }
}
