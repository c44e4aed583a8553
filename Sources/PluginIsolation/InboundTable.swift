import CarillonABI
import PluginProtocol

/// The requests from outside that a process has not answered. Pure: its owner sends the frames.
struct InboundTable: Sendable {
    /// Who waits for the answer of one request.
    ///
    /// Unchecked: the host's pointer is not looked into here.
    struct Waiter: @unchecked Sendable {
        let instance: UInt32
        let done: carillon_inbound_done
        let context: UnsafeMutableRawPointer?

        /// Answers in place of the plugin.
        func answer(status: UInt32) {
            var answer = carillon_inbound_answer()
            answer.struct_size = UInt32(MemoryLayout<carillon_inbound_answer>.size)
            answer.status = status
            done(context, &answer)
        }
    }

    /// What an answer came to.
    enum End: Sendable {
        case ended(Waiter)
        /// Nobody waits any more.
        case late
        /// Its number was never given out.
        case unknown
    }

    /// A plugin that never answers shall not fill the memory: the host has long stopped waiting for the oldest.
    private static let limit = 1024

    private var waiters: [UInt64: Waiter] = [:]
    private var last: UInt64 = 0
    private var oldest: UInt64 = 1

    var isEmpty: Bool { waiters.isEmpty }

    /// The number of a new request.
    mutating func open(_ waiter: Waiter) -> UInt64 {
        last += 1
        waiters[last] = waiter
        while waiters.count > Self.limit {
            waiters[oldest] = nil
            oldest += 1
        }
        return last
    }

    mutating func end(_ number: UInt64) -> End {
        guard let waiter = waiters.removeValue(forKey: number) else {
            return number > 0 && number <= last ? .late : .unknown
        }
        return .ended(waiter)
    }

    /// The process has gone: those who still wait for it.
    mutating func removeAll() -> [Waiter] {
        defer { waiters = [:] }
        return waiters.sorted { $0.key < $1.key }.map(\.value)
    }
}

/// Hands requests from outside to a process, and its answers to those who wait.
final class InboundRelay: Sendable {
    private let work: ProcessWork

    init(_ work: ProcessWork) { self.work = work }

    /// Hands a request to an instance. BUSY where its process does not run, or tries one delivery alone.
    func hand(
        _ instance: UInt32,
        _ request: carillon_inbound_request,
        _ done: @escaping carillon_inbound_done,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        let waiter = InboundTable.Waiter(instance: instance, done: done, context: context)
        let opened = work.withLock { state -> (number: UInt64, session: ChildSession)? in
            guard let session = state.session, state.ledger.mayReceive, state.roster.isPresent(instance) else {
                return nil
            }
            return (state.inbound.open(waiter), session)
        }
        guard let (number, session) = opened else { return .CARILLON_BUSY }
        var writer = FrameWriter()
        let fits = writer.frame(.receive, id: number) {
            ReceiveMessage.write(instance: instance, request, to: &$0)
        }
        // Whoever asks a process that has just died is answered when its end is noted.
        if fits, session.send(writer.take(), mayRefuse: true) != .full { return .CARILLON_OK }
        guard case .ended = work.withLock({ $0.inbound.end(number) }) else { return .CARILLON_OK }
        return fits ? .CARILLON_BUSY : .CARILLON_INVALID
    }

    /// Handles `received`.
    func receive(_ frame: Frame, from session: ChildSession) throws(ProtocolError) {
        let message = try ReceivedMessage(reading: frame)
        switch work.withLock({ $0.session === session ? $0.inbound.end(frame.id) : .late }) {
        case .ended(let waiter) where waiter.instance == message.instance:
            message.lend { waiter.done(waiter.context, $0) }
        case .ended(let waiter):
            waiter.answer(status: 502)
            throw .unknownValue
        case .late: break
        case .unknown: throw .unexpected(.received)
        }
    }
}
