import Nostr
import Units

/// Events to be published at one relay, each until the relay has answered or its time is up.
struct Publications: Sendable {
    private struct Publication: Sendable {
        let event: Event
        var deadline: Timestamp
        /// An answer is awaited, so that it is not sent again.
        var isSent = false
        var retry = Retry()
    }

    /// Events that wait to be published at one relay at most.
    private static let limit = 1_000

    private var publications: [EventID: Publication] = [:]

    var isEmpty: Bool { publications.isEmpty }

    /// Adds an event. If it is already being published, the later deadline holds and it ends once.
    mutating func add(_ event: Event, deadline: Timestamp, _ requests: inout RelayRequests) {
        if let known = publications[event.id] {
            publications[event.id]?.deadline = max(known.deadline, deadline)
        } else if publications.count < Self.limit {
            var publication = Publication(event: event, deadline: deadline)
            publication.retry.wait(until: requests.now)
            publications[event.id] = publication
        } else {
            requests.act(.publishEnded(event.id, isAccepted: false, message: nil))
        }
    }

    /// Sends what is due.
    mutating func send(_ requests: inout RelayRequests) {
        for (id, publication) in publications where !publication.isSent {
            guard publication.retry.at <= requests.now else {
                requests.wake(at: publication.retry.at)
                continue
            }
            publications[id]?.isSent = true
            publications[id]?.retry.sent()
            requests.act(.send(.publish(publication.event)))
        }
    }

    /// Ends what had no answer in time.
    mutating func expire(_ requests: inout RelayRequests) {
        for (id, publication) in publications {
            if publication.deadline <= requests.now {
                end(id, isAccepted: false, nil, &requests)
            } else {
                requests.wake(at: publication.deadline)
            }
        }
    }

    /// Takes the relay's answer. Returns whether the relay wants to know who we are.
    mutating func answered(
        _ id: EventID,
        isAccepted: Bool,
        _ message: String,
        _ authentication: Authentication,
        _ requests: inout RelayRequests
    ) -> Bool {
        guard let publication = publications[id] else { return false }
        if isAccepted || MachineReadablePrefix(of: message) == .duplicate {
            end(id, isAccepted: true, message, &requests)
            return false
        }
        let again = requests.now + requests.settings.pause(after: publication.retry.failures)
        switch authentication.meaning(of: Refusal(message)) {
        case .authenticate:
            publications[id]?.isSent = false
            publications[id]?.retry.awaitAuthentication(until: requests.now + requests.settings.answer)
            return true
        case .slower, .tooManySubscriptions, .tooLargeSubscriptions:
            publications[id]?.isSent = false
            publications[id]?.retry.failed(until: again)
        case .later where MachineReadablePrefix(of: message) == .error:
            publications[id]?.isSent = false
            publications[id]?.retry.failed(until: again)
        case .later, .smaller, .never:
            end(id, isAccepted: false, message, &requests)
        }
        return false
    }

    mutating func authenticationEnded(_ now: Timestamp) {
        for id in publications.keys { publications[id]?.retry.authenticationEnded(now) }
    }

    /// The connection has ended: everything is sent again over the next.
    mutating func disconnected(_ now: Timestamp) {
        for id in publications.keys {
            publications[id]?.isSent = false
            publications[id]?.retry.wait(until: now)
        }
    }

    private mutating func end(_ id: EventID, isAccepted: Bool, _ message: String?, _ requests: inout RelayRequests) {
        publications[id] = nil
        requests.act(.publishEnded(id, isAccepted: isAccepted, message: message))
    }
}
