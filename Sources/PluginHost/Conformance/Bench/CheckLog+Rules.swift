import CarillonABI
import HTTPLanes

extension CheckLog {
    /// How the log breaks the rule that `check` is about, or nil. There are rules for completions, outcomes, requests
    /// and commands.
    func breach(of check: ConformanceCheck) -> String? {
        switch check {
        case .completes: unended
        case .completesOnce: repeated
        case .outcome: deliveries.values.lazy.flatMap(\.endings).first { !$0.flaw.isEmpty }?.flaw
        case .requests: flaws.first.map { "the host could not send a request: \($0)" } ?? untrusted ?? scattered
        case .command: unanswered ?? answeredTwice ?? unreadable
        default: nil
        }
    }

    private var unended: String? {
        let owed = owed
        // Whoever ends other tickets than its own owes these for that reason; an answer to come may end them yet.
        guard owed > 0, strays == 0, openRequests == 0 else { return nil }
        return
            "\(owed) of \(deliveries.count) accepted deliveries never ended: after returning CARILLON_OK from deliver, "
            + "call host->complete exactly once, whatever the answer"
    }

    private var repeated: String? {
        if strays > 0 {
            return "it ended a ticket that is not its own: keep the ticket's 64 bits and pass them back"
        }
        if deliveries.values.contains(where: { $0.endings.count > 1 }) {
            return "it ended a ticket twice: call host->complete once for each accepted delivery"
        }
        if deliveries.values.contains(where: { $0.isAccepted == false && !$0.endings.isEmpty }) {
            return "it ended a ticket whose delivery it did not accept: return CARILLON_OK, or leave the ticket alone"
        }
        return nil
    }

    private var untrusted: String? {
        let isOpen = requests.contains { $0.url.contains("push.conformance.example") && !$0.untrustedURL }
        guard isOpen else { return nil }
        return
            "it sends to the URL of a registration without CARILLON_HTTP_UNTRUSTED_URL: users choose these URLs, and "
            + "without the flag they reach the operator's own network"
    }

    /// Words that do not repeat: what they name are connections.
    private var scattered: String? {
        let words = requests.compactMap { $0.scope?.word }
        let distinct = Set(words).count
        guard distinct > 16, distinct * 2 > words.count else { return nil }
        return
            "\(words.count) requests were sent on \(distinct) different connections: every word gets connections of its "
            + "own, use the same one as long as the credentials are the same"
    }

    static let unansweredCommand =
        "it accepted a command and gave no answer: after returning CARILLON_OK from command, call done exactly once"

    private var unanswered: String? { owedAnswers > 0 && openRequests == 0 ? Self.unansweredCommand : nil }

    private var answeredTwice: String? {
        if commands.contains(where: { $0.answers.count > 1 }) {
            return "it answered a command twice: call done once for each command it accepted"
        }
        guard commands.contains(where: { $0.isAccepted == false && !$0.answers.isEmpty }) else { return nil }
        return "it answered a command that it did not accept: return CARILLON_OK, or leave done alone"
    }

    private var unreadable: String? {
        let answers = commands.lazy.flatMap(\.answers)
        if answers.contains(where: { !$0.isText }) { return "its answer to a command is not UTF-8" }
        guard answers.contains(where: { !$0.isOK && $0.isEmpty }) else { return nil }
        return "a command failed without a word: say what is wrong and what was expected"
    }
}
