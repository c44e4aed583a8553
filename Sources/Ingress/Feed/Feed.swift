import Foundation
import Logging
import Synchronization

/// Reads events as lines of JSON, from standard input, a file or a FIFO, and hands them over in batches.
///
/// Lives on a thread of its own. Reads no more while too much is not dealt with, and comes again with what could not be; so
/// whoever writes into the other end waits, and nothing is lost while this process lives.
package final class Feed: Sendable {
    /// Takes events, each the bytes of one JSON object, unverified. Must not block; calls the closure once, on any thread, with
    /// an answer for each in order.
    package typealias Submit = @Sendable ([[UInt8]], @escaping @Sendable ([FeedAnswer]) -> Void) -> Void

    private struct Answered {
        let batch: FeedBatch
        let answers: [FeedAnswer]
    }

    private struct Messages {
        var answered: [Answered] = []
        var isStarted = false
        var mustStop = false
    }

    private let input: FeedInput
    private let limits: FeedLimits
    private let submit: Submit
    private let ended: @Sendable (FeedCounts) -> Void
    private let now: @Sendable () -> Int64
    private let logger: Logger
    private let messages = Mutex(Messages())
    private let finished = DispatchSemaphore(value: 0)

    /// `ended` is called once, on the feed's thread, when the input has ended and everything in it is dealt with; not when
    /// ``stop()`` comes before that. `now` gives milliseconds of any clock that does not step.
    package init(
        _ input: consuming FeedInput,
        limits: FeedLimits = FeedLimits(),
        submit: @escaping Submit,
        ended: @escaping @Sendable (FeedCounts) -> Void = { _ in },
        now: @escaping @Sendable () -> Int64,
        logger: Logger
    ) {
        self.input = input
        self.limits = limits
        self.submit = submit
        self.ended = ended
        self.now = now
        self.logger = logger
    }

    /// Begins to read. Once.
    package func start() {
        messages.withLock { $0.isStarted = true }
        let thread = Thread { [self] in
            run()
            finished.signal()
        }
        thread.name = "carillon-feed"
        thread.start()
    }

    /// Hands over what was read and reads no more. Returns when that is done; the answers may still be to come. Once;
    /// without ``start()`` before it there is nothing to be done.
    package func stop() async {
        let isStarted = messages.withLock { messages in
            messages.mustStop = true
            return messages.isStarted
        }
        guard isStarted else { return }
        input.callAway()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [finished] in
                finished.wait()
                continuation.resume()
            }
        }
    }

    private func run() {
        var desk = FeedDesk(limits: limits)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: limits.chunkBytes, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let (answered, mustStop) = take()
            for answer in answered { desk.answered(answer.batch, answer.answers, now: now()) }
            if let complaint = desk.complain(at: now()) { log(complaint) }
            if desk.isDone { return finish(desk) }
            if mustStop { return giveUp(desk, buffer) }
            handOver(desk.due(at: now()))
            let wait = desk.nextDue.map { $0 - now() }
            switch input.wait(milliseconds: wait, reads: desk.wantsMore, into: buffer) {
            case .bytes(let count): handOver(desk.read(UnsafeRawBufferPointer(rebasing: buffer.prefix(count))))
            case .end: handOver(desk.end())
            case .nothing: break
            case .failed(let number):
                logger.error("The feed cannot be read", metadata: ["feed": "\(input.path)", "errno": "\(number)"])
                handOver(desk.end())
            }
        }
    }

    private func take() -> (answered: [Answered], mustStop: Bool) {
        messages.withLock { messages in
            defer { messages.answered = [] }
            return (messages.answered, messages.mustStop)
        }
    }

    private func handOver(_ batch: FeedBatch) {
        guard !batch.isEmpty else { return }
        submit(batch.events) { [self] answers in
            messages.withLock { $0.answered.append(Answered(batch: batch, answers: answers)) }
            input.callAway()
        }
    }

    private func finish(_ desk: FeedDesk) {
        var desk = desk
        if let complaint = desk.lastComplaint() { log(complaint) }
        logger.notice("The feed has ended", metadata: metadata(desk.counts))
        ended(desk.counts)
    }

    /// What cannot be dealt with by now will not be: there is nowhere to give it back to.
    private func giveUp(_ desk: FeedDesk, _ buffer: UnsafeMutableRawBufferPointer) {
        var desk = desk
        for batch in Self.restOfLine(from: input, for: &desk, buffer) { handOver(batch) }
        handOver(desk.handOverAgain())
        logger.info(
            "Reading the feed no more",
            metadata: metadata(desk.counts).merging(["unsettled": "\(desk.unsettled)"]) { $1 }
        )
    }

    /// Reads to the end of the line that was begun, and no further: half a line would be of no use to whoever reads a FIFO
    /// next.
    static func restOfLine(
        from input: borrowing FeedInput,
        for desk: inout FeedDesk,
        _ buffer: UnsafeMutableRawBufferPointer
    ) -> [FeedBatch] {
        var batches: [FeedBatch] = []
        let one = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(1))
        while desk.isWithinLine, case .bytes = input.wait(milliseconds: 0, reads: true, into: one) {
            batches.append(desk.read(UnsafeRawBufferPointer(one)))
        }
        return batches
    }

    private func log(_ complaint: FeedComplaint) {
        logger.warning(
            "A line of the feed is of no use",
            metadata: [
                "feed": "\(input.path)", "line": "\(complaint.line)", "reason": "\(complaint.reason)",
                "others": "\(complaint.others)",
            ]
        )
    }

    private func metadata(_ counts: FeedCounts) -> Logger.Metadata {
        [
            "feed": "\(input.path)", "lines": "\(counts.lines)", "taken": "\(counts.taken)",
            "refused": "\(counts.refused)",
            "passed": "\(counts.passedOver)",
        ]
    }
}
