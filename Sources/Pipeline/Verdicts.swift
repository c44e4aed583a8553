import Nostr

/// What became of a submitted event, as its sender is told.
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

        /// Whether there is no use in bringing the event again: false when nothing was wrong with it but it could not be
        /// kept or taken at that moment.
        package var isFinal: Bool {
            guard case .refused(let message) = self else { return true }
            return MachineReadablePrefix(of: message) != .error
        }
    }

    /// Nil when the event could not be read that far.
    package var id: EventID?
    package var result: Result

    package init(id: EventID?, _ result: Result) {
        self.id = id
        self.result = result
    }
}

extension EventVerdict.Result {
    /// What another copy of the event is told.
    var ofCopy: Self { self == .accepted ? .duplicate : self }
}

/// Submissions that miss verdicts still.
struct OpenAnswers {
    private struct Answer {
        let completion: @Sendable ([EventVerdict]) -> Void
        var verdicts: [EventVerdict]
        var missing: Int
    }

    private var answers: [Int: Answer] = [:]

    /// Answers a submission, at once or, when verdicts are missing, later.
    mutating func answer(_ submission: Submission, number: Int, _ verdicts: [EventVerdict], missing: Int) {
        guard missing > 0 else { return submission.completion(verdicts) }
        answers[number] = Answer(completion: submission.completion, verdicts: verdicts, missing: missing)
    }

    /// Brings a verdict that was missing; with the last one the submission is answered.
    mutating func settle(_ place: AnswerPlace, _ result: EventVerdict.Result) {
        guard var answer = answers.removeValue(forKey: place.submission),
            answer.verdicts.indices.contains(place.position)
        else { return }
        answer.verdicts[place.position].result = result
        answer.missing -= 1
        guard answer.missing > 0 else { return answer.completion(answer.verdicts) }
        answers[place.submission] = answer
    }
}

/// Where a verdict belongs that comes later than others of its submission.
struct AnswerPlace: Hashable {
    /// The submission's number.
    let submission: Int
    /// The event's place in it.
    let position: Int
}
