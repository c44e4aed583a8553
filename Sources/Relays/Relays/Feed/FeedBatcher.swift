import Core
import Glibc
import Nostr

/// Turns what is read into batches of events, and hands each over until it is dealt with. Knows no file and no clock.
///
/// Where an event that may register somebody has to come again, so does everything behind it: until then, events for
/// that account would concern nobody. Events that were taken are known by then and wake nobody twice.
struct FeedBatcher {
    /// A batch that was handed over. Its answers wait until those of registrations before it are there.
    private struct UnderWay {
        let number: Int
        let registers: Bool
        var answered: (batch: FeedBatch, answers: [FeedAnswer])?
    }

    private let limits: FeedLimits
    private(set) var splitter: LineSplitter
    private var screening: OrderedScreening
    private var outstandingEvents = 0
    private var outstandingBytes = 0
    private var underWay: [UnderWay] = []
    private var lastNumber = 0
    /// Events to be handed over again.
    private var again = FeedBatch()
    private var retryAt: Deadline = .distantPast
    private var retryDelay: Duration
    private var refused: (line: Int, reason: String)?
    private var furtherRefused = 0
    private var nextReportAt: Deadline = .distantPast
    private(set) var counts = FeedCounts()
    private(set) var hasEnded = false

    /// `screening` looks at each event before it is handed over.
    init(limits: FeedLimits, screening: (any EventScreening)? = nil) {
        self.limits = limits
        self.screening = OrderedScreening(screening)
        splitter = LineSplitter(limit: limits.lineBytes.bytes)
        retryDelay = limits.retryDelays.lowerBound
    }

    /// Whether to read on. Not while anything is to be handed over again: whoever is too busy for that is too busy for
    /// more.
    var wantsMore: Bool {
        !hasEnded && again.events.isEmpty && outstandingEvents < limits.outstandingEvents
            && outstandingBytes < limits.outstandingBytes.bytes
    }

    /// Whether everything that there was is dealt with.
    var isDone: Bool { hasEnded && outstandingEvents == 0 && again.events.isEmpty }

    /// How many events are not dealt with yet.
    var unsettled: Int { outstandingEvents + again.events.count }

    /// When to call ``due(at:)`` again if nothing else happens; nil: not at all.
    var nextDue: Deadline? { again.events.isEmpty || isWaitingForOthers ? nil : retryAt }

    /// What came behind a registration is answered before all of it goes again.
    private var isWaitingForOthers: Bool { again.registering > 0 && !underWay.isEmpty }

    /// Takes what was read. Returns the events to hand over.
    mutating func read(_ bytes: UnsafeRawBufferPointer) -> FeedBatch {
        var rest = bytes
        var batch = FeedBatch()
        while let line = splitter.next(in: &rest) { take(line, into: &batch) }
        screening.report()
        return handOver(batch)
    }

    /// The stream has ended. Returns the events to hand over.
    mutating func end() -> FeedBatch {
        var batch = FeedBatch()
        if let line = splitter.last() { take(line, into: &batch) }
        screening.report()
        hasEnded = true
        return handOver(batch)
    }

    /// What is to be handed over again by now.
    mutating func due(at now: Deadline) -> FeedBatch {
        now >= retryAt && !isWaitingForOthers ? handOverAgain() : FeedBatch()
    }

    /// The same, whatever the time.
    mutating func handOverAgain() -> FeedBatch {
        defer { again = FeedBatch() }
        return handOver(again)
    }

    /// Takes the answers to a batch, one for each event in order.
    mutating func answered(_ batch: FeedBatch, _ answers: [FeedAnswer], now: Deadline) {
        guard let index = underWay.firstIndex(where: { $0.number == batch.number }) else { return }
        underWay[index].answered = (batch, answers)
        let wasEmpty = again.events.isEmpty
        var place = 0
        while place < underWay.count {
            guard let answered = underWay[place].answered else {
                // Those behind it may have to come again with it.
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
            // A missing answer means "not now".
            switch index < answers.count ? answers[index] : .notNow {
            case .taken where again.registering == 0: counts.taken += 1
            case .refused(let reason): refuse(batch.lines[index], reason)
            case .taken, .notNow:
                again.append(event, line: batch.lines[index], mayRegister: mayRegister)
                continue
            }
            if mayRegister { registered += 1 }
        }
        screening.settled(registering: registered)
    }

    /// What to tell the operator by now; not too often.
    mutating func report(at now: Deadline) -> RefusedLine? {
        guard now >= nextReportAt, let report = finalReport() else { return nil }
        nextReportAt = now + limits.reportInterval
        return report
    }

    /// What the operator has not been told yet, whatever the time.
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
            switch screening.finding(of: event) {
            case .concernsNobody: counts.taken += 1
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

/// Events that are handed over together.
struct FeedBatch: Sendable, Equatable {
    /// The bytes of one JSON object each.
    var events: [[UInt8]] = []
    /// The line that each came in.
    var lines: [Int] = []
    var bytes = 0
    /// Tells it from others.
    var number = 0
    /// Positions of those that may register somebody.
    private var registrations: Set<Int> = []

    /// How many of them may register somebody.
    var registering: Int { registrations.count }

    func mayRegister(_ index: Int) -> Bool { registrations.contains(index) }

    mutating func append(_ event: [UInt8], line: Int, mayRegister: Bool = false) {
        if mayRegister { registrations.insert(events.count) }
        events.append(event)
        lines.append(line)
        bytes += event.count
    }
}

/// A line that was refused, for the operator.
struct RefusedLine: Sendable, Equatable {
    let line: Int
    let reason: String
    /// How many more were refused since the last report.
    let others: Int
}

/// Cuts a stream of bytes into lines, without copying those that lie within one piece. Keeps at most `limit` bytes of
/// an unfinished line.
struct LineSplitter {
    /// A line without its end, and without the carriage return that may stand before that.
    struct Line {
        enum Content {
            /// Valid as long as the bytes that were handed in.
            case within(UnsafeRawBufferPointer)
            /// It came in several pieces.
            case joined([UInt8])
            /// It was not kept.
            case tooLong
        }

        /// From 1.
        let number: Int
        let content: Content
    }

    private let limit: Int
    private var unfinished: [UInt8] = []
    private var isTooLong = false
    private var number = 0

    /// `limit` is how many bytes a line may have.
    init(limit: Int) {
        self.limit = limit
    }

    /// Whether what was read last ends in the middle of a line.
    var isWithinLine: Bool { isTooLong || !unfinished.isEmpty }

    /// The next line that ends within `bytes`; `bytes` then begins after it. Nil when there is none; `bytes` is then
    /// empty.
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

    /// The rest when the stream has ended, which is a line as well. Nil if nothing is left.
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
