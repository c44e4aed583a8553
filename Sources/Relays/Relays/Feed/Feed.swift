import Core
import Foundation
import Logging
import Nostr
import Synchronization

/// Reads events as lines of JSON from standard input, a file, a FIFO or a spool, and submits them in batches.
///
/// Runs on its own thread. It stops reading while too much is outstanding, and resubmits events that could not be
/// processed. So the writer waits, and no event is lost while this process runs. With a spool no event is lost even if
/// the process dies, because unprocessed events stay in the spool.
package final class Feed: Sendable {
    /// Takes unverified events, each the bytes of one JSON object. Must not block. Calls the closure once, on any
    /// thread, with one result for each event in order.
    package typealias Submit = @Sendable ([[UInt8]], @escaping @Sendable ([FeedAnswer]) -> Void) -> Void

    private struct CompletedBatch {
        let batch: FeedBatch
        let answers: [FeedAnswer]
    }

    private struct Messages {
        var answered: [CompletedBatch] = []
        var isStarted = false
        var mustStop = false
    }

    /// How long to wait for a spool's writer, which holds its lock for less.
    private static let writersTime: Duration = .milliseconds(20)

    private let input: FeedInput
    private let limits: FeedLimits
    private let prefilter: @Sendable () -> (any EventPrefilter)?
    private let submit: Submit
    private let now: @Sendable () -> Deadline
    private let logger: Logger
    private let messages = Mutex(Messages())
    private let finished = DispatchSemaphore(value: 0)

    /// `prefilter` creates the filter that checks each event on the feed's thread before it is submitted. `now` is the
    /// monotonic clock.
    package init(
        _ input: consuming FeedInput,
        limits: FeedLimits = FeedLimits(),
        prefilter: @escaping @Sendable () -> (any EventPrefilter)? = { nil },
        submit: @escaping Submit,
        now: @escaping @Sendable () -> Deadline,
        logger: Logger
    ) {
        self.input = input
        self.limits = limits
        self.prefilter = prefilter
        self.submit = submit
        self.now = now
        self.logger = logger
    }

    /// Starts reading. Call it once. `ended` is called once, on the feed's thread, when the input has ended and all its
    /// events are processed, but not if ``stop()`` is called before that.
    package func start(ended: @escaping @Sendable (FeedCounts) -> Void = { _ in }) {
        messages.withLock { $0.isStarted = true }
        let thread = Thread { [self] in
            if let counts = run() { ended(counts) }
            finished.signal()
        }
        thread.name = "carillon-feed"
        thread.start()
    }

    /// Submits the events already read and stops reading. Returns when that is done; results may still be outstanding.
    /// Call it once; without ``start(ended:)`` it does nothing.
    package func stop() async {
        let isStarted = messages.withLock { messages in
            messages.mustStop = true
            return messages.isStarted
        }
        guard isStarted else { return }
        input.interrupt()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [finished] in
                finished.wait()
                continuation.resume()
            }
        }
    }

    /// Returns the counts when the feed has ended; nil if it was stopped.
    private func run() -> FeedCounts? {
        var batcher = FeedBatcher(limits: limits, prefilter: prefilter())
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: limits.chunkBytes.bytes, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let (answered, mustStop) = take()
            for answer in answered { batcher.answered(answer.batch, answer.answers, now: now()) }
            if let refused = batcher.report(at: now()) { log(refused) }
            if batcher.isDone { return finish(batcher) }
            if mustStop {
                giveUp(batcher, buffer)
                return nil
            }
            handOver(batcher.due(at: now()))
            var wait = batcher.nextDue.map { $0 - now() }
            if batcher.unsettled == 0 {
                switch input.discard(isWithinLine: batcher.splitter.isWithinLine) {
                case .none: break
                case .busy: wait = Self.writersTime
                case .halfLine: handOver(endOfLine(for: &batcher))
                }
            }
            switch input.wait(atMost: wait, reads: batcher.wantsMore, into: buffer) {
            case .bytes(let count): handOver(batcher.read(UnsafeRawBufferPointer(rebasing: buffer.prefix(count))))
            case .end: handOver(batcher.end())
            case .pause, .nothing: break
            case .failed(let number):
                logger.error("Failed to read the feed", metadata: ["feed": "\(input.path)", "errno": "\(number)"])
                handOver(batcher.end())
            }
        }
    }

    private func endOfLine(for batcher: inout FeedBatcher) -> FeedBatch {
        withUnsafeBytes(of: UInt8(ascii: "\n")) { batcher.read($0) }
    }

    private func take() -> (answered: [CompletedBatch], mustStop: Bool) {
        messages.withLock { messages in
            defer { messages.answered = [] }
            return (messages.answered, messages.mustStop)
        }
    }

    private func handOver(_ batch: FeedBatch) {
        guard !batch.events.isEmpty else { return }
        submit(batch.events) { [self] answers in
            messages.withLock { $0.answered.append(CompletedBatch(batch: batch, answers: answers)) }
            input.interrupt()
        }
    }

    private func finish(_ batcher: FeedBatcher) -> FeedCounts {
        var batcher = batcher
        if let refused = batcher.finalReport() { log(refused) }
        logger.notice("The feed has ended", metadata: metadata(batcher.counts))
        return batcher.counts
    }

    /// Stops reading. Unprocessed events cannot be returned to the input: they are lost unless they are in a spool.
    private func giveUp(_ batcher: FeedBatcher, _ buffer: UnsafeMutableRawBufferPointer) {
        var batcher = batcher
        for batch in Self.restOfLine(from: input, for: &batcher, buffer) { handOver(batch) }
        handOver(batcher.handOverAgain())
        logger.info(
            "Stopped reading the feed",
            metadata: metadata(batcher.counts).merging(["unsettled": "\(batcher.unsettled)"]) { $1 }
        )
    }

    /// Reads the rest of an unfinished line and no further, because the next reader of a FIFO could not use half a
    /// line.
    static func restOfLine(
        from input: borrowing FeedInput,
        for batcher: inout FeedBatcher,
        _ buffer: UnsafeMutableRawBufferPointer
    ) -> [FeedBatch] {
        var batches: [FeedBatch] = []
        let one = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(1))
        while batcher.splitter.isWithinLine, case .bytes = input.wait(atMost: .zero, reads: true, into: one) {
            batches.append(batcher.read(UnsafeRawBufferPointer(one)))
        }
        return batches
    }

    private func log(_ refused: RefusedLine) {
        logger.warning(
            "Skipped an invalid line of the feed",
            metadata: [
                "feed": "\(input.path)", "line": "\(refused.line)", "reason": "\(refused.reason)",
                "others": "\(refused.others)",
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

/// The result for a submitted event.
package enum FeedAnswer: Sendable, Hashable {
    /// It was processed, whether or not it causes a notification.
    case taken
    /// It is invalid for this reason, which must not quote it.
    case refused(String)
    /// It could not be processed now; the feed submits it again.
    case notNow
}

/// The counts of a feed so far.
package struct FeedCounts: Sendable, Hashable {
    package var lines = 0
    /// The number of processed events.
    package var taken = 0
    /// The number of lines without an event, or with an event that was refused.
    package var refused = 0
    /// The number of messages that contain no event, and of empty lines.
    package var passedOver = 0
}

/// A feed's memory limits and waiting times.
package struct FeedLimits: Sendable {
    /// The maximum length of a line. Longer ones are refused.
    package var lineBytes: ByteCount = .mebibytes(1)
    /// The maximum number of submitted events without a result. At this number the feed stops reading.
    package var outstandingEvents = 10_000
    /// The maximum bytes of such events.
    package var outstandingBytes: ByteCount = .mebibytes(32)
    /// The size of one read.
    package var chunkBytes: ByteCount = .kibibytes(256)
    /// The initial and maximum delay before events are resubmitted. It doubles each time.
    package var retryDelays: ClosedRange<Duration> = .milliseconds(100) ... .seconds(5)
    /// The minimum time between two reports in the log.
    package var reportInterval: Duration = .seconds(10)

    package init() {}
}
