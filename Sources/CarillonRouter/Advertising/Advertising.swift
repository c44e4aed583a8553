import Delivery
import Logging
import Nostr
import RelayPool
import Synchronization
import Units

/// Keeps and publishes the advertisement: the shell around ``AdvertisementSchedule``.
final class Advertising: Sendable {
    private struct State {
        var desk: AdvertisementSchedule
        /// The earliest time at which the alarm rings.
        var alarmAt: Timestamp?
        var isStopped = false
    }

    private let identity: KeyPair
    private let succession: Succession?
    private let publisher: (any EventPublisher)?
    private let alarm: any Alarm
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let state: Mutex<State>

    /// `succession` says which key comes after `identity`. `relays` are to have it; without a `publisher` it is kept
    /// and served, and published nowhere.
    init(
        identity: KeyPair,
        succession: Succession? = nil,
        relays: [RelayURL],
        publisher: (any EventPublisher)?,
        alarm: any Alarm,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.identity = identity
        self.succession = succession
        self.publisher = publisher
        self.alarm = alarm
        self.now = now
        self.logger = logger
        state = Mutex(State(desk: AdvertisementSchedule(relays: publisher == nil ? [] : relays)))
    }

    var key: PublicKey { identity.publicKey }

    /// What is advertised; nil before anything is.
    var event: Event? { state.withLock { $0.desk.event } }

    /// Advertises this from now on; each relay gets it unless it is what is advertised already. `stored` are the events
    /// kept of our own; `keep` keeps another one of them. Returns it.
    @discardableResult
    func advertise(_ advertisement: Advertisement, stored: [Event], keep: (Event) throws -> Void) throws -> Event {
        let kept = stored.filter { $0.kind == .notificationRelay }.max { $0.createdAt < $1.createdAt }
        let event = try advertisement.event(by: identity, succession, replacing: kept, now: now())
        if event != kept { try keep(event) }
        guard event != self.event else { return event }
        state.withLock { $0.desk.advertise(event, now: now()) }
        publish()
        return event
    }

    /// Publishes at these relays from now on, and leaves the others to other routers.
    func limit(to isHere: (RelayURL) -> Bool) {
        state.withLock { $0.desk.limit(to: isHere) }
        publish()
    }

    /// Publishes no more.
    func stop() {
        state.withLock { $0.isStopped = true }
    }

    private func publish() {
        let time = now()
        let (event, relays, alarmAt) = state.withLock { state -> (Event?, [RelayURL], Timestamp?) in
            guard !state.isStopped else { return (nil, [], nil) }
            if let alarmAt = state.alarmAt, alarmAt <= time { state.alarmAt = nil }
            let relays = state.desk.due(at: time)
            guard let next = state.desk.nextAttempt, next < state.alarmAt ?? .distantFuture else {
                return (state.desk.event, relays, nil)
            }
            state.alarmAt = next
            return (state.desk.event, relays, next)
        }
        if let event, let publisher, !relays.isEmpty {
            publisher.publish(event, to: relays) { [weak self] results in self?.answered(event, relays, results) }
        }
        if let alarmAt { ring(at: alarmAt) }
    }

    private func answered(_ event: Event, _ relays: [RelayURL], _ results: [RelayURL: PublishResult]) {
        let lacking = state.withLock { $0.desk.answered(event, at: relays, results, now: now()) }
        let given = relays.filter { results[$0] == .accepted }
        if !given.isEmpty {
            logger.info("Advertised", metadata: ["relays": "\(given.map(\.text).joined(separator: ", "))"])
        }
        for relay in lacking {
            let isRefused = if case .refused = results[relay] { true } else { false }
            logger.notice(
                "A relay did not take the advertisement; it is asked again later",
                metadata: ["relay": "\(relay.text)", "reason": isRefused ? "refused" : "no answer"]
            )
        }
        publish()
    }

    /// An alarm may ring early, and is then set again.
    private func ring(at time: Timestamp) {
        alarm.ring(at: time) { [weak self] in
            guard let self else { return }
            if now() < time { ring(at: time) } else { publish() }
        }
    }
}

/// Brings events of our own to other relays.
protocol EventPublisher: Sendable {
    /// Publishes `event` at each of `relays` and returns at once. Calls `completion` once, on any thread, with what
    /// became of it at each.
    func publish(_ event: Event, to relays: [RelayURL], completion: (@Sendable ([RelayURL: PublishResult]) -> Void)?)
}

extension RelayPool: EventPublisher {}
