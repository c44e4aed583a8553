import DequeModule
import HeapModule
import Notifications

extension CourierQueue {
    mutating func park(_ lane: Int, until due: Int64) {
        guard let first = lanes[lane].waiting.first else { return }
        lanes[lane].state = .parked
        parkedCount += lanes[lane].waiting.count
        parked.insert(Parked(place: RetryPlace(due: due, key: first.key), content: .lane(lane)))
    }

    mutating func park(_ stored: StoredDelivery, until due: Int64) {
        parkedCount += 1
        parked.insert(Parked(place: RetryPlace(due: due, key: stored.key), content: .single(stored)))
    }

    mutating func wakeParked(now: Int64) {
        while let first = parked.min, first.place.due <= now {
            wake(parked.removeMin())
        }
        // Nothing waits longer than it lives: this was put off before the clock was set back.
        while let last = parked.max, last.place.due.subtractingReportingOverflow(now).partialValue > policy.lifetime {
            wake(parked.removeMax())
        }
    }

    private mutating func wake(_ entry: Parked) {
        switch entry.content {
        case .lane(let lane):
            parkedCount -= lanes[lane].waiting.count
            makeReady(lane)
        case .single(let stored):
            parkedCount -= 1
            enqueue(stored)
        }
    }

    /// Leaves to the disk what waits longest, where memory has too much of it. Deliveries that wait behind others of their
    /// device get the same due time, so that they come back in order.
    mutating func moveParkedToDisk(into actions: inout CourierActions) {
        guard !backlog.isReadingRetries else { return }
        while let last = parked.max, parkedCount > limits.parked || backlog.isBeyondHorizon(last.place) {
            parked.removeMax()
            var place = last.place
            switch last.content {
            case .single:
                parkedCount -= 1
                held -= 1
                retrying.remove(place.key)
            case .lane(let lane):
                parkedCount -= lanes[lane].waiting.count
                held -= lanes[lane].waiting.count
                for stored in lanes[lane].waiting {
                    retrying.remove(stored.key)
                    place.key = min(place.key, stored.key)
                    guard stored.due != place.due else { continue }
                    actions.changes.reschedulings.append(
                        OutboxChanges.Rescheduling(key: stored.key, due: place.due, attempts: stored.attempts)
                    )
                }
                lanes.release(lane)
            }
            backlog.lowerHorizon(to: place)
        }
    }

    mutating func askForPages(into actions: inout CourierActions) {
        let room = limits.window - held
        if backlog.isBehind, !backlog.isReadingFirstTries, room >= limits.window / 2 {
            backlog.beginReadingFirstTries()
            let part = OutboxRead.Part.firstTries(after: backlog.taken)
            actions.reads.append(OutboxRead(queue: index, number: number, part: part, limit: limits.page))
        }
        if let horizon = backlog.horizon, !backlog.isReadingRetries, room >= limits.page, parkedCount < limits.page {
            backlog.beginReadingRetries()
            let part = OutboxRead.Part.retries(from: horizon)
            actions.reads.append(OutboxRead(queue: index, number: number, part: part, limit: limits.page))
        }
    }

    mutating func take(
        _ page: OutboxPage,
        of part: OutboxRead.Part,
        now: Int64,
        into actions: inout CourierActions
    ) {
        for row in page.unreadable { drop(row, into: &actions) }
        switch part {
        case .firstTries:
            for stored in page.deliveries where backlog.take(stored.key) {
                held += 1
                enqueue(stored)
            }
            backlog.endReadingFirstTries(isLast: page.isLast)
        case .retries:
            var last: RetryPlace?
            for stored in page.deliveries {
                let due = stored.due ?? .min
                last = RetryPlace(due: due, key: stored.key)
                guard retrying.insert(stored.key).inserted else { continue }
                held += 1
                park(stored, until: Self.due(stored, at: now))
            }
            backlog.endReadingRetries(last: last, isLast: page.isLast)
            retrying.subtract(endedWhileReading)
            endedWhileReading.removeAll()
        }
    }

    /// When a retry that the disk knows is due. One that was put off by a clock which has been put back since, as its acceptance tells,
    /// waits no longer than it was to.
    private static func due(_ stored: StoredDelivery, at now: Int64) -> Int64 {
        let due = stored.due ?? .min
        let accepted = stored.delivery.acceptedAt
        let (step, overflow) = accepted.subtractingReportingOverflow(now)
        guard !overflow, step > CourierQueues.tolerance, due > accepted else { return due }
        return due - step
    }

    mutating func forgetRetrying(_ stored: StoredDelivery) {
        guard stored.due != nil else { return }
        if backlog.isReadingRetries {
            endedWhileReading.append(stored.key)
        } else {
            retrying.remove(stored.key)
        }
    }

    private func drop(_ row: OutboxPage.Unreadable, into actions: inout CourierActions) {
        actions.changes.removals.append(row.key)
        actions.reports.append(
            DeliveryReport(
                delivery: row.id,
                device: DeviceID(rawValue: row.device),
                queue: name,
                kind: .unreadable,
                status: 0,
                reason: "unreadable",
                attempt: 0
            )
        )
    }
}
