import CarillonABI
import HTTPLanes

extension CheckLog {
    /// How the log breaks the rule that `check` is about, or nil. There are rules for completions, outcomes and requests.
    func breach(of check: ConformanceCheck) -> String? {
        switch check {
        case .completes: unended
        case .completesOnce: repeated
        case .outcome: deliveries.values.lazy.flatMap(\.endings).first { !$0.flaw.isEmpty }?.flaw
        case .requests: flaws.first.map { "the host could not send a request: \($0)" } ?? untrusted
        default: nil
        }
    }

    private var unended: String? {
        let owed = owed
        // Whoever ends other tickets than its own owes these for that reason.
        guard owed > 0, strays == 0 else { return nil }
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
}
