import Core
import Glibc
import Nostr

/// Turns received bytes into batches of events, and resubmits events until each is processed. Pure: it has no file and
/// no clock.
///
/// If an event that may register an account must be resubmitted, so must all events after it: until then, events for
/// that account would match no account. Events that were already taken are then duplicates and cause no second
/// notification.
struct FeedBatcher {
    /// A submitted batch. Its results are held until those of earlier batches with registrations have arrived.
    private struct UnderWay {
        let number: Int
        let registers: Bool
        var answered: (batch: FeedBatch, answers: [FeedAnswer])?
    }

    private let limits: FeedLimits
    private(set) var splitter: LineSplitter
    private var prefilter: OrderedPrefilter
    private var outstandingEvents = 0
    private var outstandingBytes = 0
    private var underWay: [UnderWay] = []
    private var lastNumber = 0
    /// Events to resubmit.
    private var again = FeedBatch()
    private var retryAt: Deadline = .distantPast
    private var retryDelay: Duration
    private var refused: (line: Int, reason: String)?
    private var furtherRefused = 0
    private var nextReportAt: Deadline = .distantPast
    private(set) var counts = FeedCounts()
    private(set) var hasEnded = false

    /// `prefilter` checks each event before it is submitted.
    init(limits: FeedLimits, prefilter: (any EventPrefilter)? = nil) {
        self.limits = limits
        self.prefilter = OrderedPrefilter(prefilter)
        splitter = LineSplitter(limit: limits.lineBytes.bytes)
        retryDelay = limits.retryDelays.lowerBound
    }

    /// Whether to continue reading. False while events wait to be resubmitted: a pipeline that is too busy for them is
    /// too busy for more.
    var wantsMore: Bool {
        !hasEnded && again.events.isEmpty && outstandingEvents < limits.outstandingEvents
            && outstandingBytes < limits.outstandingBytes.bytes
    }

    /// Whether the input has ended and all events are processed.
    var isDone: Bool { hasEnded && outstandingEvents == 0 && again.events.isEmpty }

    /// The number of unprocessed events.
    var unsettled: Int { outstandingEvents + again.events.count }

    /// When to call ``due(at:)`` next if no other call happens; nil: not needed.
    var nextDue: Deadline? { again.events.isEmpty || isWaitingForOthers ? nil : retryAt }

    /// Whether resubmission waits for the results of events after a registration.
    private var isWaitingForOthers: Bool { again.registering > 0 && !underWay.isEmpty }

    /// Takes received bytes. Returns the events to submit.
    mutating func read(_ bytes: UnsafeRawBufferPointer) -> FeedBatch {
        var rest = bytes
        var batch = FeedBatch()
        while let line = splitter.next(in: &rest) { take(line, into: &batch) }
        prefilter.report()
        return handOver(batch)
    }

    /// Ends the stream. Returns the events to submit.
    mutating func end() -> FeedBatch {
        var batch = FeedBatch()
        if let line = splitter.last() { take(line, into: &batch) }
        prefilter.report()
        hasEnded = true
        return handOver(batch)
    }

    /// Returns the events whose resubmission is due.
    mutating func due(at now: Deadline) -> FeedBatch {
        now >= retryAt && !isWaitingForOthers ? handOverAgain() : FeedBatch()
    }

    /// Returns all events to resubmit, due or not.
    mutating func handOverAgain() -> FeedBatch {
        defer { again = FeedBatch() }
        return handOver(again)
    }

    /// Takes the results of a batch, one for each event in order.
    mutating func answered(_ batch: FeedBatch, _ answers: [FeedAnswer], now: Deadline) {
        guard let index = underWay.firstIndex(where: { $0.number == batch.number }) else { return }
        underWay[index].answered = (batch, answers)
        let wasEmpty = again.events.isEmpty
        var place = 0
        while place < underWay.count {
            guard let answered = underWay[place].answered else {
                // Later events may have to be resubmitted with it.
                if underWay[place].registers { break }
                place += 1
                continue
            }
            underWay.remove(at: place)
            settle(answered.batch, answered.answers)
        }
        if again.events.isEmpty {
            retryDelay = limits.retryDelays.lowerBound
        } else if wasEmpty {
            retryAt = now + retryDelay
            retryDelay = min(retryDelay * 2, limits.retryDelays.upperBound)
        }
    }

    private mutating func settle(_ batch: FeedBatch, _ answers: [FeedAnswer]) {
        outstandingEvents -= batch.events.count
        outstandingBytes -= batch.bytes
        var registered = 0
        for (index, event) in batch.events.enumerated() {
            let mayRegister = batch.mayRegister(index)
            // A missing result means "not now".
            switch index < answers.count ? answers[index] : .notNow {
            case .taken where again.registering == 0: counts.taken += 1
            case .refused(let reason): refuse(batch.lines[index], reason)
            case .taken, .notNow:
                again.append(event, line: batch.lines[index], mayRegister: mayRegister)
                continue
            }
            if mayRegister { registered += 1 }
        }
        prefilter.settled(registering: registered)
    }

    /// Returns the next report for the operator, if one is due.
    mutating func report(at now: Deadline) -> RefusedLine? {
        guard now >= nextReportAt, let report = finalReport() else { return nil }
        nextReportAt = now + limits.reportInterval
        return report
    }

    /// Returns the pending report for the operator, due or not.
    mutating func finalReport() -> RefusedLine? {
        defer {
            refused = nil
            furtherRefused = 0
        }
        return refused.map { RefusedLine(line: $0.line, reason: $0.reason, others: furtherRefused) }
    }

    private mutating func handOver(_ batch: FeedBatch) -> FeedBatch {
        guard !batch.events.isEmpty else { return batch }
        lastNumber += 1
        var batch = batch
        batch.number = lastNumber
        underWay.append(UnderWay(number: lastNumber, registers: batch.registering > 0))
        outstandingEvents += batch.events.count
        outstandingBytes += batch.bytes
        return batch
    }

    private mutating func take(_ line: LineSplitter.Line, into batch: inout FeedBatch) {
        counts.lines = line.number
        switch line.content {
        case .within(let bytes): take(bytes, of: line.number, into: &batch)
        case .joined(let bytes): bytes.withUnsafeBytes { take($0, of: line.number, into: &batch) }
        case .tooLong: refuse(line.number, "longer than \(limits.lineBytes.bytes) bytes")
        }
    }

    private mutating func take(_ line: UnsafeRawBufferPointer, of number: Int, into batch: inout FeedBatch) {
        guard !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) else {
            counts.passedOver += 1
            return
        }
        do throws(EventLineError) {
            guard let place = try EventLine.event(in: line) else {
                counts.passedOver += 1
                return
            }
            let event = UnsafeRawBufferPointer(rebasing: line[place])
            switch prefilter.finding(of: event) {
            case .irrelevant: counts.taken += 1
            case .mayConcernSomebody: batch.append(Array(event), line: number)
            case .mayRegister: batch.append(Array(event), line: number, mayRegister: true)
            }
        } catch {
            refuse(number, "\(error)")
        }
    }

    private mutating func refuse(_ line: Int, _ reason: String) {
        counts.refused += 1
        if refused == nil { refused = (line, reason) } else { furtherRefused += 1 }
    }
}

/// Events that are submitted together.
struct FeedBatch: Sendable, Equatable {
    /// The bytes of one JSON object each.
    var events: [[UInt8]] = []
    /// The line number of each event.
    var lines: [Int] = []
    var bytes = 0
    /// The batch's unique number.
    var number = 0
    /// The indices of events that may register an account.
    private var registrations: Set<Int> = []

    /// The number of events that may register an account.
    var registering: Int { registrations.count }

    func mayRegister(_ index: Int) -> Bool { registrations.contains(index) }

    mutating func append(_ event: [UInt8], line: Int, mayRegister: Bool = false) {
        if mayRegister { registrations.insert(events.count) }
        events.append(event)
        lines.append(line)
        bytes += event.count
    }
}

/// A refused line, for the operator.
struct RefusedLine: Sendable, Equatable {
    let line: Int
    let reason: String
    /// The number of other lines refused since the last report.
    let others: Int
}

/// Splits a stream of bytes into lines, without copying lines that are within one piece. Keeps up to `limit` bytes of
/// an unfinished line.
struct LineSplitter {
    /// A line without its end and without a carriage return before that.
    struct Line {
        enum Content {
            /// Valid as long as the bytes passed to ``next(in:)``.
            case within(UnsafeRawBufferPointer)
            /// It arrived in several pieces.
            case joined([UInt8])
            /// It was dropped.
            case tooLong
        }

        /// Starts at 1.
        let number: Int
        let content: Content
    }

    private let limit: Int
    private var unfinished: [UInt8] = []
    private var isTooLong = false
    private var number = 0

    /// `limit` is the maximum bytes of a line.
    init(limit: Int) {
        self.limit = limit
    }

    /// Whether the last bytes ended in the middle of a line.
    var isWithinLine: Bool { isTooLong || !unfinished.isEmpty }

    /// Returns the next line that ends within `bytes`, and removes it from `bytes`. Returns nil if there is none;
    /// `bytes` is then empty.
    mutating func next(in bytes: inout UnsafeRawBufferPointer) -> Line? {
        guard let start = bytes.baseAddress, let newline = memchr(start, 0x0A, bytes.count) else {
            keep(bytes)
            bytes = UnsafeRawBufferPointer(rebasing: bytes.suffix(0))
            return nil
        }
        let length = UnsafeRawPointer(newline) - start
        let piece = UnsafeRawBufferPointer(start: start, count: length)
        bytes = UnsafeRawBufferPointer(start: start + length + 1, count: bytes.count - length - 1)
        guard !isWithinLine, length <= limit else {
            keep(piece)
            return finish()
        }
        number += 1
        return Line(number: number, content: .within(piece.withoutReturn))
    }

    /// Returns the rest at the end of the stream as a line. Nil if it is empty.
    mutating func last() -> Line? {
        isWithinLine ? finish() : nil
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        if unfinished.count + bytes.count > limit { isTooLong = true }
        if isTooLong { unfinished = [] } else { unfinished.append(contentsOf: bytes) }
    }

    private mutating func finish() -> Line {
        number += 1
        defer {
            unfinished = []
            isTooLong = false
        }
        if unfinished.last == UInt8(ascii: "\r") { unfinished.removeLast() }
        return Line(number: number, content: isTooLong ? .tooLong : .joined(unfinished))
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var withoutReturn: Self {
        last == UInt8(ascii: "\r") ? Self(rebasing: dropLast()) : self
    }
}
