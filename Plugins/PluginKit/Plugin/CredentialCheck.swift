/// Answers to the command `check`, as in `carillon push email check`: does the push service accept the configured
/// credentials? Nobody is notified for it. The first word is the verdict, which `carillon setup` reads.
extension CommandAnswer {
    /// The push service accepts the credentials; `detail` says whose they are.
    public static func accepted(_ detail: String = "") -> CommandAnswer {
        CommandAnswer(isGood: true, text: detail.isEmpty ? "accepted" : "accepted: \(detail)")
    }

    /// The push service refuses them; `reason` is one of ours, never the push service's text.
    public static func refused(_ reason: String) -> CommandAnswer {
        CommandAnswer(isGood: false, text: "refused: \(reason)")
    }

    /// What an attempt with the credentials ended in says of them: a passing failure says nothing.
    public static func check(_ outcome: Outcome) -> CommandAnswer {
        let status = outcome.status == 0 ? "" : " (\(outcome.status))"
        return switch outcome.kind {
        case .misconfigured: .refused(outcome.reason + status)
        case .retry: CommandAnswer(isGood: false, text: "unknown: \(outcome.reason)\(status)")
        case .delivered, .gone, .rejected: .accepted()
        }
    }

    /// The line about `check` in the answer to `help`.
    public static let helpOnCheck = CommandAnswer(
        isGood: true,
        text: "check    whether the credentials are accepted; sends no message"
    )
}
