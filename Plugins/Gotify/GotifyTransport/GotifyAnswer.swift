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
        switch answer.status {
        case 400: answer.outcome(.rejected, "bad-request")
        case 404, 410: answer.outcome(.rejected, answer.outcome.reason)
        default: answer.outcome
        }
    }
}
