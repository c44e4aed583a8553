import Nostr

/// One client's conversation, without its socket: messages in, actions out (NIP-01, NIP-42).
struct RelayConnection {
    /// What the shell around this must do with a message.
    enum Action: Equatable {
        /// Send these messages.
        case send([RelayMessage])
        /// Hand the event over and answer when it is kept.
        case submit([UInt8])
        /// Look for stored events, send them and EOSE.
        case query(SubscriptionID, filters: [Filter], authenticated: Set<PublicKey>)
        case nothing
    }

    private static let slowDown = MachineReadablePrefix.rateLimited.message("slow down")

    private let limits: RelayServerConfiguration.Limits
    private var authentication: ClientAuthentication
    private var bucket: TokenBucket
    private var subscriptions: Set<SubscriptionID> = []
    private var eventsTaken = 0
    private var eventsAnswered = 0
    private var bytesInWork = 0
    /// Queries that came behind events: whoever registers and then asks must find the registration.
    private var waitingQueries: [(behind: Int, query: Action)] = []

    init(limits: RelayServerConfiguration.Limits, url: String, challenge: String, now: Int64) {
        self.limits = limits
        self.authentication = ClientAuthentication(url: url, challenge: challenge)
        self.bucket = TokenBucket(capacity: limits.burst, perSecond: limits.messagesPerSecond, now: now)
    }

    /// What to send before the client says anything.
    var greeting: RelayMessage { .authenticate(challenge: authentication.challenge) }

    /// Whether to read on, or to leave what comes in the socket until answers are out.
    var wantsMore: Bool { eventsTaken - eventsAnswered < limits.eventsInWork && bytesInWork < limits.bytesInWork }

    /// Handles one text message. `now` is in milliseconds since 1970.
    mutating func receive(_ bytes: [UInt8], now: Int64) -> Action {
        let withinRate = bucket.take(at: now)
        let message: ClientMessage
        do throws(MessageError) {
            message = try bytes.withUnsafeBufferPointer { bytes throws(MessageError) in
                try ClientMessage(UnsafeRawBufferPointer(bytes))
            }
        } catch {
            return .send([.notice(MachineReadablePrefix.invalid.message(error))])
        }
        switch message {
        case .event(let range):
            return event(Array(bytes[range]), withinRate: withinRate)
        case .request(let subscription, let filters):
            guard withinRate else { return closed(subscription, .rateLimited, "slow down") }
            return request(subscription, filters)
        case .close(let subscription):
            forget(subscription)
            return .nothing
        case .authenticate(let event):
            guard withinRate else { return .send([.notice(Self.slowDown)]) }
            return .send([authentication.authenticate(event, now: now)])
        }
    }

    /// The answers to the next `count` events, of `bytes` bytes in all, are out. Returns the queries that waited for them.
    mutating func answered(events count: Int, bytes: Int) -> [Action] {
        eventsAnswered += count
        bytesInWork -= bytes
        let ready = waitingQueries.prefix { $0.behind <= eventsAnswered }
        waitingQueries.removeFirst(ready.count)
        return ready.map(\.query)
    }

    private mutating func event(_ event: [UInt8], withinRate: Bool) -> Action {
        guard withinRate else {
            let id = (try? Event(json: event))?.id
            return .send([EventAnswer(id: id, accepted: false, message: Self.slowDown).relayMessage])
        }
        eventsTaken += 1
        bytesInWork += event.count
        return .submit(event)
    }

    private mutating func request(_ subscription: SubscriptionID, _ filters: [Filter]) -> Action {
        guard filters.count <= limits.filters else {
            return closed(subscription, .invalid, "at most \(limits.filters) filters a REQ")
        }
        guard subscriptions.contains(subscription) || subscriptions.count < limits.subscriptions else {
            return closed(subscription, .rateLimited, "at most \(limits.subscriptions) subscriptions a connection")
        }
        let asksForRegistrations = filters.contains { filter in
            filter.kinds?.contains { $0 == .pushRegistration || $0 == .addressablePushRegistration } ?? false
        }
        if asksForRegistrations, authentication.publicKeys.isEmpty {
            return closed(subscription, .authRequired, "registrations are served to their own author only")
        }
        subscriptions.insert(subscription)
        let query = Action.query(subscription, filters: filters, authenticated: authentication.publicKeys)
        guard eventsTaken > eventsAnswered else { return query }
        waitingQueries.append((behind: eventsTaken, query: query))
        return .nothing
    }

    private mutating func closed(
        _ subscription: SubscriptionID,
        _ prefix: MachineReadablePrefix,
        _ reason: String
    ) -> Action {
        forget(subscription)
        return .send([.closed(subscription, message: prefix.message(reason))])
    }

    private mutating func forget(_ subscription: SubscriptionID) {
        subscriptions.remove(subscription)
        waitingQueries.removeAll { waiting in
            guard case .query(subscription, _, _) = waiting.query else { return false }
            return true
        }
    }
}
