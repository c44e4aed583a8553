import Nostr

/// The pipeline's decision about an event, for the event's sender.
package struct EventDecision: Sendable, Hashable {
    package enum Result: Sendable, Hashable {
        /// The event was accepted, and its pushes are on disk.
        case accepted
        /// The event was accepted before.
        case duplicate
        /// A newer version that replaces it was accepted before.
        case outdated
        /// The message is a machine-readable prefix of NIP-01, a colon and a sentence.
        case refused(String)

        static let notKept = Result.refused("error: could not be kept, try again later")

        /// Whether sending the event again is pointless. False if a valid event could not be stored or processed.
        /// Relays are read again for events without a final result.
        package var isFinal: Bool {
            guard case .refused(let message) = self else { return true }
            return MachineReadablePrefix(of: message) != .error
        }

        /// The result for another copy of the event.
        var ofCopy: Self { self == .accepted ? .duplicate : self }
    }

    /// Nil if the event could not be read far enough.
    package var id: EventID?
    package var result: Result

    package init(id: EventID?, _ result: Result) {
        self.id = id
        self.result = result
    }
}

/// The decisions on one batch's events. Senders get them after the batch is on disk.
struct Decisions {
    /// One decision for each event, in order. Those of `resumed` come last.
    private(set) var all: [EventDecision] = []
    /// Positions of the decisions that come after this batch, in ascending order.
    private(set) var missing: [Int] = []
    /// Events that were waiting before this batch.
    private(set) var resumed: [WaitingEvent] = []
    /// Positions of the decisions for verified events.
    private var positions: [EventID: Int] = [:]
    private var finished: Set<EventID> = []
    /// Positions of the decisions for duplicate copies of those events.
    private var copies: [(EventID, Int)] = []

    func contains(_ id: EventID) -> Bool { positions[id] != nil }

    /// Adds the decision about an event that is processed no further.
    mutating func stop(_ decision: EventDecision) { all.append(decision) }

    /// Adds a verified event. Its decision follows later in this batch.
    mutating func begin(_ id: EventID) {
        positions[id] = all.count
        all.append(EventDecision(id: id, .accepted))
    }

    /// Adds an event that stopped waiting.
    mutating func resume(_ waiting: WaitingEvent) {
        resumed.append(waiting)
        begin(waiting.event.id)
    }

    /// Adds another copy of an event of this batch. It gets that event's decision.
    mutating func addCopy(_ id: EventID) {
        copies.append((id, all.count))
        all.append(EventDecision(id: id, .duplicate))
    }

    /// Adds another copy of an event that keeps waiting after this batch.
    mutating func addCopy(ofWaiting id: EventID) {
        missing.append(all.count)
        all.append(EventDecision(id: id, .duplicate))
    }

    /// Records how the processing of a verified event ended.
    mutating func note(_ end: EventOutcome.Status, of id: EventID) {
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

    /// Marks these events as not kept, because a later write failed. Returns those that had another result.
    mutating func retract(_ ids: [EventID]) -> [EventID] {
        let retracted = ids.filter { finished.remove($0) != nil }
        for id in retracted { set(.notKept, of: id) }
        return retracted
    }

    /// Decides about copies. Returns the finished events, those that senders may send again, and those of either kind
    /// that were not kept. `isKept` is whether the batch is on disk.
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

    private mutating func set(_ result: EventDecision.Result, of id: EventID) {
        guard let position = positions[id] else { return }
        all[position].result = result
    }
}

/// The position of a decision in its submission, for decisions that come later.
struct AnswerPlace: Hashable {
    /// The submission's number.
    let submission: Int
    /// The event's position in it.
    let position: Int
}

/// Answers submissions after all of their decisions are known.
struct Answers {
    private struct Open {
        let completion: @Sendable ([EventDecision]) -> Void
        var decisions: [EventDecision]
        var missing: Int
    }

    private var open: [Int: Open] = [:]
    /// The number of the next submission.
    private(set) var next = 0

    /// Answers the senders of a batch's events, and those of events that were waiting.
    mutating func deliver(_ decisions: Decisions, to arrived: [Submission]) {
        var (rest, missing) = (decisions.all[...], decisions.missing[...])
        for submission in arrived {
            let own = rest.prefix(submission.events.count)
            let missingHere = missing.prefix { $0 < own.endIndex }.count
            answer(submission, Array(own), missing: missingHere)
            rest = rest.dropFirst(own.count)
            missing = missing.dropFirst(missingHere)
        }
        for (waiting, decision) in zip(decisions.resumed, rest) {
            for (number, place) in waiting.places.enumerated() {
                settle(place, number == 0 ? decision.result : decision.result.ofCopy)
            }
        }
    }

    /// Answers a submission immediately, or later if decisions are missing.
    private mutating func answer(_ submission: Submission, _ decisions: [EventDecision], missing: Int) {
        defer { next += 1 }
        guard missing > 0 else { return submission.completion(decisions) }
        open[next] = Open(completion: submission.completion, decisions: decisions, missing: missing)
    }

    /// Sets a missing decision, and answers the submission if it was the last one.
    private mutating func settle(_ place: AnswerPlace, _ result: EventDecision.Result) {
        guard var answer = open.removeValue(forKey: place.submission),
            answer.decisions.indices.contains(place.position)
        else { return }
        answer.decisions[place.position].result = result
        answer.missing -= 1
        guard answer.missing > 0 else { return answer.completion(answer.decisions) }
        open[place.submission] = answer
    }
}
