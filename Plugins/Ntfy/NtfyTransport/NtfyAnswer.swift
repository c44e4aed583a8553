import PluginKit

/// What ntfy answered, and what follows from it: the status, and the code in `{"code":42908,…}` where that says more.
///
/// Never gone: a topic has no end.
struct NtfyAnswer {
    /// `42908`: the messages of this day are used up; ntfy counts them by UTC days.
    private static let dailyLimit: Int64 = 42_908
    private static let millisecondsPerDay: Int64 = 86_400_000
    /// ntfy gives a visitor one more request every five seconds.
    private static let refill: UInt32 = 5000

    private let answer: PushServiceAnswer
    private let code: Int64?
    private let now: Int64

    init(_ response: borrowing HTTPResponse, now: Int64) {
        answer = PushServiceAnswer(response, now: now)
        code = response.status == 429 ? (try? JSONObject(parsing: response.body.bytes))?["code"]?.integer : nil
        self.now = now
    }

    var outcome: Outcome {
        var outcome = answer.outcome
        if outcome.kind == .gone { return answer.outcome(.rejected, outcome.reason) }
        guard answer.status == 429 else { return outcome }
        outcome.retryAfter = max(outcome.retryAfter, NtfyAnswer.refill)
        if code == NtfyAnswer.dailyLimit {
            let untilTomorrow = NtfyAnswer.millisecondsPerDay - now % NtfyAnswer.millisecondsPerDay
            outcome.retryAfter = max(outcome.retryAfter, UInt32(untilTomorrow))
        }
        return outcome
    }
}
