import PluginProtocol
import Synchronization
import Units
import WakeUps

/// A frame in memory of its own.
package struct OwnedFrame: Sendable {
    package let kind: FrameKind
    private let id: UInt64
    private let body: [UInt8]

    init(_ frame: Frame) {
        kind = frame.kind
        id = frame.id
        body = Array(frame.body)
    }

    /// Lends the frame for the time of `read`.
    package func read<Result>(_ read: (Frame) throws(ProtocolError) -> Result) throws(ProtocolError) -> Result {
        try body.withUnsafeBytes { bytes in
            Swift.Result { () throws(ProtocolError) in try read(Frame(kind: kind, id: id, body: bytes)) }
        }.get()
    }
}

/// What a question came to.
package enum Answer: Sendable {
    case frame(OwnedFrame)
    /// The process ended.
    case ended
    /// The process crashed in this very question.
    case crashed
    /// No answer came in time.
    case late
    /// It could not be asked: it is too long, or too many are open.
    case unaskable
}

/// The questions that a process has not answered.
package final class OpenQuestions: Sendable {
    package typealias Completion = @Sendable (Answer) -> Void

    private struct State {
        var last: UInt64 = 0
        var open: [UInt64: Completion] = [:]
        /// Questions whose answers nobody waits for any more. The process is still busy with them.
        var late: Set<UInt64> = []
        var isClosed = false
    }

    private static let limit = 4096
    private let state = Mutex(State())

    package init() {}

    /// Whether the process has answered everything, in time or not.
    package var isEmpty: Bool { state.withLock { $0.open.isEmpty && $0.late.isEmpty } }

    /// The number of a new question; nil when the process has ended or too many are open.
    package func open(_ completion: @escaping Completion) -> UInt64? {
        state.withLock { state in
            guard !state.isClosed, state.open.count + state.late.count < Self.limit else { return nil }
            state.last += 1
            state.open[state.last] = completion
            return state.last
        }
    }

    /// The answer to a question. One that comes too late is ignored.
    package func answer(_ frame: Frame) throws(ProtocolError) {
        let (completion, wasAsked) = state.withLock { state in
            state.late.remove(frame.id)
            return (state.open.removeValue(forKey: frame.id), (1...max(1, state.last)).contains(frame.id))
        }
        guard wasAsked else { throw .unexpected(frame.kind) }
        completion?(.frame(OwnedFrame(frame)))
    }

    /// Stops waiting for the answer to a question, which `wasSent` or not. False: it is there, or about to be.
    package func withdraw(_ number: UInt64, wasSent: Bool) -> Bool {
        state.withLock { state in
            guard state.open.removeValue(forKey: number) != nil else { return false }
            if wasSent { state.late.insert(number) }
            return true
        }
    }

    /// Answers all questions: the process has ended. `crashed` is the one that it says it crashed in.
    package func close(crashed: UInt64? = nil) {
        let open = state.withLock { state in
            state.isClosed = true
            defer { state.open = [:] }
            return state.open
        }
        for (number, completion) in open.sorted(by: { $0.key < $1.key }) {
            completion(number == crashed ? .crashed : .ended)
        }
    }
}

/// A place where one thread waits for what another has.
final class Handover<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let semaphore = MonotonicSemaphore()

    /// The first counts.
    func give(_ given: Value) {
        let isFirst = value.withLock { value in
            guard value == nil else { return false }
            value = given
            return true
        }
        if isFirst { semaphore.signal() }
    }

    /// Whether it is there.
    var isGiven: Bool { value.withLock { $0 != nil } }

    /// Nil: it did not come in time. Several may take it.
    func take(within span: Duration) -> Value? {
        if semaphore.wait(until: .now() + span) { semaphore.signal() }
        return value.withLock(\.self)
    }
}
