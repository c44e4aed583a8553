import Delivery
import Logging
import Nostr
import Storage

/// How events set out, and how a batch ends.
extension Pipeline {
    /// A verified event sets out; further copies of it wait for how it ends.
    func begin(_ event: Event, into batch: inout Batch) {
        gate.hold(event.id)
        batch.begin(event.id)
    }

    func addCopy(of id: EventID, at place: AnswerPlace, into batch: inout Batch) {
        if batch.contains(id) {
            batch.addCopy(id)
        } else if parking.join(id, at: place) {
            batch.addWaitingCopy(id)
        } else {
            batch.stop(.notKept, EventVerdict(id: id, Batch.notKept))
        }
    }

    /// Everything the batch wakes goes to disk at once; only then are its events done with, and answered.
    func conclude(_ batch: inout Batch, answering arrived: [Submission]) {
        notePace(into: &batch)
        let isKept = keep(batch)
        doors.room?.settle()
        batch.log.settle(isKept: isKept)
        if isKept, !follows.remember(batch.contactLists) { batch.retract(batch.baselineLists) }
        let (done, open) = batch.conclude(isKept: isKept)
        for id in done { gate.remember(id) }
        for id in open { gate.release(id) }
        if isKept { for request in batch.zapRequests { gate.remember(request) } }

        var (verdicts, waiting) = (batch.verdicts[...], batch.waiting[...])
        for submission in arrived {
            let own = verdicts.prefix(submission.events.count)
            let missing = waiting.prefix { $0 < own.endIndex }.count
            answers.answer(submission, number: submissions, Array(own), missing: missing)
            submissions += 1
            verdicts = verdicts.dropFirst(own.count)
            waiting = waiting.dropFirst(missing)
        }
        for (parked, verdict) in zip(batch.resumed, verdicts) {
            for (number, place) in parked.places.enumerated() {
                answers.settle(place, number == 0 ? verdict.result : verdict.result.ofCopy)
            }
        }
        observer.record(batch.log.counts)
        if !batch.log.filtered.isEmpty { observer.filtered(batch.log.filtered) }
        if !batch.log.leftOut.isEmpty { observer.leftOut(batch.log.leftOut) }
        if !batch.log.trace.isEmpty { observer.trace(batch.log.trace, at: batch.time) }
    }

    private func keep(_ batch: Batch) -> Bool {
        guard !batch.deliveries.isEmpty || !batch.causes.isEmpty || pacing.pacer.isTouched else { return true }
        do {
            if let error = batch.cannotBeKept { throw error }
            try putOnDisk(batch.deliveries, batch.causes, pacing.changes)
            pacing.commit()
            outboxTrouble.passed(at: batch.time)
            return true
        } catch {
            pacing.rollBack(at: batch.time)
            outboxTrouble.occurred(error, at: batch.time)
            return false
        }
    }
}
