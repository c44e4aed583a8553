import Nostr

extension RelaySession {
    /// Events that wait to be published at one relay at most.
    private static let publicationLimit = 1_000

    /// Publishes an event, now or when connected. ``RelayAction/publishEnded(_:isAccepted:message:)`` follows, at `deadline` at the
    /// latest. An event that is being published already is so until the later deadline, and ends once.
    mutating func publish(_ event: Event, deadline: Int64, now: Int64) -> [RelayAction] {
        if let known = publications[event.id] {
            publications[event.id]?.deadline = max(known.deadline, deadline)
        } else if publications.count < Self.publicationLimit {
            publications[event.id] = Publication(event: event, deadline: deadline, sendAt: now)
        } else {
            act(.publishEnded(event.id, isAccepted: false, message: nil))
        }
        return finish(now)
    }

    mutating func sendPublications(_ now: Int64) {
        for (id, publication) in publications {
            guard let sendAt = publication.sendAt else { continue }
            guard sendAt <= now else {
                wake(at: sendAt)
                continue
            }
            publications[id]?.sendAt = nil
            publications[id]?.awaitsAuthentication = false
            act(.send(.publish(publication.event)))
        }
    }

    mutating func expirePublications(_ now: Int64) {
        for (id, publication) in publications {
            if publication.deadline <= now {
                end(id, isAccepted: false, nil)
            } else {
                wake(at: publication.deadline)
            }
        }
    }

    mutating func publicationAnswered(_ id: EventID, isAccepted: Bool, _ message: String, now: Int64) {
        guard let publication = publications[id] else { return }
        if isAccepted || MachineReadablePrefix(of: message) == .duplicate { return end(id, isAccepted: true, message) }
        switch meaning(of: Refusal(message)) {
        case .authenticate:
            publications[id]?.sendAt = now + settings.answer
            publications[id]?.awaitsAuthentication = true
            authenticate(now: now)
        case .slower, .tooManySubscriptions, .tooLargeSubscriptions:
            sendAgain(id, publication, now: now)
        case .later:
            guard MachineReadablePrefix(of: message) == .error else { return end(id, isAccepted: false, message) }
            sendAgain(id, publication, now: now)
        case .smaller, .never:
            end(id, isAccepted: false, message)
        }
    }

    private mutating func sendAgain(_ id: EventID, _ publication: Publication, now: Int64) {
        let pause = pause(after: publication.failures)
        publications[id]?.sendAt = now + pause
        publications[id]?.failures += 1
    }

    private mutating func end(_ id: EventID, isAccepted: Bool, _ message: String?) {
        publications[id] = nil
        act(.publishEnded(id, isAccepted: isAccepted, message: message))
    }
}
