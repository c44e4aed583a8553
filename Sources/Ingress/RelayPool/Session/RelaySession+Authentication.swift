import Nostr

extension RelaySession {
    /// Sends the answer to a challenge and remembers what waits for it.
    mutating func signed(_ authentication: Event, now: Int64) -> [RelayAction] {
        guard isConnected else { return finish(now) }
        self.authentication.sent(authentication.id, now: now)
        act(.send(.authenticate(authentication)))
        return finish(now)
    }

    /// Answers the relay's challenge, as soon as there is one.
    mutating func authenticate(now: Int64) {
        wantsAuthentication = true
        if let challenge = authentication.begin(now: now) { act(.authenticate(challenge: challenge)) }
    }

    /// What a refusal means to us: one that would last is first tried to be answered by saying who we are, once.
    func meaning(of refusal: Refusal) -> Refusal {
        switch refusal {
        case .authenticate: authentication.isExhausted ? .never : .authenticate
        case .never: authentication.challenge != nil && !authentication.isExhausted ? .authenticate : .never
        default: refusal
        }
    }

    mutating func challenged(_ challenge: String, now: Int64) {
        if authentication.challenged(challenge), wantsAuthentication { authenticate(now: now) }
    }

    /// Goes on after a while as if the relay had accepted, since not every relay says so.
    mutating func expireAuthentication(_ now: Int64) {
        guard let deadline = authentication.deadline(settings.answer) else { return }
        guard now >= deadline else { return wake(at: deadline) }
        authentication.presume()
        authenticationEnded(now: now)
    }

    mutating func answered(_ id: EventID, isAccepted: Bool, _ message: String, now: Int64) {
        if authentication.answered(id, isAccepted: isAccepted) {
            authenticationEnded(now: now)
        } else {
            publicationAnswered(id, isAccepted: isAccepted, message, now: now)
        }
    }

    /// Asks again for what was refused until we had said who we are. If that was in vain, the relay will say so.
    private mutating func authenticationEnded(now: Int64) {
        holdUntil = nil
        for name in live.keys where live[name]?.awaitsAuthentication == true { live[name]?.dueAt = now }
        for number in sweeps.keys where sweeps[number]?.awaitsAuthentication == true { sweeps[number]?.retryAt = now }
        for number in fetches.keys where fetches[number]?.awaitsAuthentication == true {
            fetches[number]?.retryAt = now
        }
        for id in publications.keys where publications[id]?.awaitsAuthentication == true {
            publications[id]?.sendAt = now
        }
    }
}
