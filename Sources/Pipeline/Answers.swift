import Nostr

/// The answer to the sender of an event.
package struct EventVerdict: Sendable, Hashable {
    package enum Result: Sendable, Hashable {
        /// Whatever it wakes is kept on disk.
        case accepted
        /// It was accepted before.
        case duplicate
        /// A newer one that replaces it was accepted before.
        case outdated
        /// A machine-readable prefix of NIP-01, a colon and a sentence.
        case refused(String)

        static let notKept = Result.refused("error: could not be kept, try again later")

        /// Whether sending the event again is of no use. False when nothing is wrong with it but it could not be kept
        /// or taken. Relays are read again for an event whose result is not final.
        package var isFinal: Bool {
            guard case .refused(let message) = self else { return true }
            return MachineReadablePrefix(of: message) != .error
        }

        /// The result for another copy of the event.
        var ofCopy: Self { self == .accepted ? .duplicate : self }
    }

    /// Nil when the event could not be read that far.
    package var id: EventID?
    package var result: Result

    package init(id: EventID?, _ result: Result) {
        self.id = id
        self.result = result
    }
}

/// The verdicts on one batch's events, for their senders once it is kept.
struct Verdicts {
    /// One for each event, in order; the last ones are those of `resumed`.
    private(set) var all: [EventVerdict] = []
    /// Positions of the verdicts that this batch does not bring, in ascending order.
    private(set) var missing: [Int] = []
    /// Events that waited before this batch.
    private(set) var resumed: [WaitingEvent] = []
    /// Positions of the verdicts for verified events.
    private var positions: [EventID: Int] = [:]
    private var finished: Set<EventID> = []
    /// Positions of the verdicts for duplicate copies of those events.
    private var copies: [(EventID, Int)] = []

    func contains(_ id: EventID) -> Bool { positions[id] != nil }

    /// An event goes no further.
    mutating func stop(_ verdict: EventVerdict) { all.append(verdict) }

    /// A verified event sets out; its verdict comes later in this batch.
    mutating func begin(_ id: EventID) {
        positions[id] = all.count
        all.append(EventVerdict(id: id, .accepted))
    }

    /// An event that waited sets out again.
    mutating func resume(_ waiting: WaitingEvent) {
        resumed.append(waiting)
        begin(waiting.event.id)
    }

    /// Another copy of an event that set out gets its verdict.
    mutating func addCopy(_ id: EventID) {
        copies.append((id, all.count))
        all.append(EventVerdict(id: id, .duplicate))
    }

    /// Another copy of an event that waits beyond this batch.
    mutating func addCopy(ofWaiting id: EventID) {
        missing.append(all.count)
        all.append(EventVerdict(id: id, .duplicate))
    }

    /// How the way of an event ends that set out.
    mutating func note(_ end: EventOutcome.End, of id: EventID) {
        switch end {
        case .finished(let result):
            finished.insert(id)
            set(result, of: id)
        case .stopped(let result):
            set(result, of: id)
        case .waits:
            if let position = positions.removeValue(forKey: id) { missing.append(position) }
        case .open: break
        }
    }

    /// The disk did not take everything of these events after all. Returns those that were done with otherwise.
    mutating func retract(_ ids: [EventID]) -> [EventID] {
        let retracted = ids.filter { finished.remove($0) != nil }
        for id in retracted { set(.notKept, of: id) }
        return retracted
    }

    /// Gives copies their verdicts. Returns the events that are done with, those that may come again, and those of both
    /// sorts that were not kept. `isKept` says whether the batch is on disk.
    mutating func conclude(isKept: Bool) -> (done: Set<EventID>, open: [EventID], notKept: [EventID]) {
        var notKept: [EventID] = []
        if !isKept {
            notKept = Array(finished)
            for id in finished { set(.notKept, of: id) }
            finished = []
        }
        for (id, position) in copies {
            guard let original = positions[id] else { continue }
            all[position].result = all[original].result.ofCopy
            if !all[position].result.isFinal { notKept.append(id) }
        }
        return (finished, positions.keys.filter { !finished.contains($0) }, notKept)
    }

    private mutating func set(_ result: EventVerdict.Result, of id: EventID) {
        guard let position = positions[id] else { return }
        all[position].result = result
    }
}

/// The place of a verdict that comes later than others of its submission.
struct AnswerPlace: Hashable {
    /// The submission's number.
    let submission: Int
    /// The event's place in it.
    let position: Int
}

/// Answers submissions, once all of their verdicts are there.
struct Answers {
    private struct Open {
        let completion: @Sendable ([EventVerdict]) -> Void
        var verdicts: [EventVerdict]
        var missing: Int
    }

    private var open: [Int: Open] = [:]
    /// The number of the next submission.
    private(set) var next = 0

    /// Answers the senders of a batch, and those of events that waited.
    mutating func deliver(_ verdicts: Verdicts, to arrived: [Submission]) {
        var (rest, missing) = (verdicts.all[...], verdicts.missing[...])
        for submission in arrived {
            let own = rest.prefix(submission.events.count)
            let missingHere = missing.prefix { $0 < own.endIndex }.count
            answer(submission, Array(own), missing: missingHere)
            rest = rest.dropFirst(own.count)
            missing = missing.dropFirst(missingHere)
        }
        for (waiting, verdict) in zip(verdicts.resumed, rest) {
            for (number, place) in waiting.places.enumerated() {
                settle(place, number == 0 ? verdict.result : verdict.result.ofCopy)
            }
        }
    }

    /// Answers a submission, at once or, when verdicts are missing, later.
    private mutating func answer(_ submission: Submission, _ verdicts: [EventVerdict], missing: Int) {
        defer { next += 1 }
        guard missing > 0 else { return submission.completion(verdicts) }
        open[next] = Open(completion: submission.completion, verdicts: verdicts, missing: missing)
    }

    /// Brings a verdict that was missing; with the last one the submission is answered.
    private mutating func settle(_ place: AnswerPlace, _ result: EventVerdict.Result) {
        guard var answer = open.removeValue(forKey: place.submission),
            answer.verdicts.indices.contains(place.position)
        else { return }
        answer.verdicts[place.position].result = result
        answer.missing -= 1
        guard answer.missing > 0 else { return answer.completion(answer.verdicts) }
        open[place.submission] = answer
    }
}
