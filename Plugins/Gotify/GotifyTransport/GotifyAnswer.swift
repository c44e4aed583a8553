import PluginKit

/// What a Gotify server answered, and what follows from it.
///
/// Never gone: a token that is refused costs the message and not the device, for its owner may have it back in a minute.
struct GotifyAnswer {
    private let answer: PushServiceAnswer

    init(_ response: borrowing HTTPResponse, now: Int64) {
        answer = PushServiceAnswer(response, now: now)
    }

    var outcome: Outcome {
        let outcome = answer.outcome
        return outcome.kind == .gone ? answer.outcome(.rejected, outcome.reason) : outcome
    }
}
