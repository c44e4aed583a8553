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
