import Delivery
import Notifications

extension Judge {
    /// Attempts for one device follow each other, and each request lies within its attempt.
    static func checkOrder(_ evidence: Evidence, _ verdict: inout Verdict) {
        let journal = evidence.record.journal
        var latest: [DeviceID: (ended: Int?, delivery: Int)] = [:]
        for attempt in journal.attempts {
            let device = evidence.record.population.deliveries[attempt.delivery].device
            if let before = latest[device], before.ended.map({ $0 > attempt.began }) ?? true {
                verdict.fail(
                    .oneAtATime,
                    "\(evidence.name(attempt.delivery)) was attempted while \(evidence.name(before.delivery)) was, "
                        + "for the same device"
                )
            }
            latest[device] = (attempt.ended, attempt.delivery)
        }
        var inAttempt: [Int: Int?] = [:]
        for sending in journal.sendings {
            let attempt = journal.attempts[sending.attempt]
            guard let ended = sending.ended else {
                verdict.fail(.answersMatch, "\(evidence.name(attempt.delivery)): a request never ended")
                continue
            }
            let isInside = attempt.began < sending.began && attempt.ended.map { ended < $0 } ?? false
            let isAlone = inAttempt[sending.attempt].map { $0.map { $0 < sending.began } ?? false } ?? true
            if !isInside || !isAlone {
                verdict.fail(
                    .oneAtATime,
                    "\(evidence.name(attempt.delivery)): a request went on beside another or beyond its attempt"
                )
            }
            inAttempt[sending.attempt] = ended
        }
    }
}
