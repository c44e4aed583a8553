import Rules

/// What became of one event in a trial.
package struct TrialReport: Sendable {
    let subject: TrialSubject
    let verdict: TrialJudge.Verdict
    /// The rule allows less than the device asked for.
    var isCutByRule = false
    /// By platform; none for what wakes nobody.
    package var deliveries: [TrialDelivery] = []

    init(subject: TrialSubject, verdict: TrialJudge.Verdict) {
        self.subject = subject
        self.verdict = verdict
    }

    /// Why nobody is woken; nil when somebody is.
    package var silence: String? {
        if case .wakesNobody(let reason) = verdict { return reason }
        return nil
    }

    /// The rule that decided to wake somebody.
    package var ruleName: String? {
        if case .wakes(let wakeUp) = verdict { return wakeUp.rule.name }
        return nil
    }

    /// Whether there is a platform that nothing would go out to though it should.
    package var hasFailures: Bool {
        deliveries.contains(where: \.isFailure)
    }
}
