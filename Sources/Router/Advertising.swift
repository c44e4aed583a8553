import Core
import Delivery
import Logging
import Nostr
import Operations
import Registry
import RelayServer
import Relays
import RouterConfiguration
import Synchronization

/// Keeps and publishes the advertisement, as ``AdvertisementSchedule`` decides.
final class Advertising: Sendable {
    private struct State {
        var schedule: AdvertisementSchedule
        /// The earliest time at which the alarm rings.
        var alarmAt: Timestamp?
        var isStopped = false
    }

    /// Publishes an event at each of `relays` and returns immediately. Calls `completion` once, on any thread, with each
    /// relay's result.
    typealias Publish =
        @Sendable (
            _ event: Event, _ relays: [RelayURL], _ completion: @escaping @Sendable ([RelayURL: PublishResult]) -> Void
        ) -> Void

    private let identity: KeyPair
    private let succession: Succession?
    private let publish: Publish
    private let alarm: any Alarm
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let state: Mutex<State>

    /// `succession` names the key that replaces `identity`. Calls `publish` for `relays`; without relays it only stores
    /// and serves the event.
    init(
        identity: KeyPair,
        succession: Succession? = nil,
        relays: [RelayURL],
        publish: @escaping Publish,
        alarm: any Alarm,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.identity = identity
        self.succession = succession
        self.publish = publish
        self.alarm = alarm
        self.now = now
        self.logger = logger
        state = Mutex(State(schedule: AdvertisementSchedule(relays: relays)))
    }

    var key: PublicKey { identity.publicKey }

    /// The advertised event; nil before the first.
    var event: Event? { state.withLock { $0.schedule.event } }

    /// Advertises this from now on; relays that already have the same event are skipped. `stored` are the router's own
    /// stored events; `keep` stores a new one. Returns the event.
    @discardableResult
    func advertise(_ advertisement: Advertisement, stored: [Event], keep: (Event) throws -> Void) throws -> Event {
        let kept = stored.filter { $0.kind == .notificationRelay }.max { $0.createdAt < $1.createdAt }
        let event = try advertisement.event(by: identity, succession, replacing: kept, now: now())
        if event != kept { try keep(event) }
        guard event != self.event else { return event }
        state.withLock { $0.schedule.advertise(event, now: now()) }
        publishDue()
        return event
    }

    /// Publishes only at relays for which `isHere` is true; other cluster members publish at the rest.
    func limit(to isHere: (RelayURL) -> Bool) {
        state.withLock { $0.schedule.limit(to: isHere) }
        publishDue()
    }

    /// Stops publishing.
    func stop() {
        state.withLock { $0.isStopped = true }
    }

    private func publishDue() {
        let time = now()
        let (event, relays, alarmAt) = state.withLock { state -> (Event?, [RelayURL], Timestamp?) in
            guard !state.isStopped else { return (nil, [], nil) }
            if let alarmAt = state.alarmAt, alarmAt <= time { state.alarmAt = nil }
            let relays = state.schedule.due(at: time)
            guard let next = state.schedule.nextAttempt, next < state.alarmAt ?? .distantFuture else {
                return (state.schedule.event, relays, nil)
            }
            state.alarmAt = next
            return (state.schedule.event, relays, next)
        }
        if let event, !relays.isEmpty {
            publish(event, relays) { [weak self] results in self?.answered(event, relays, results) }
        }
        if let alarmAt { ring(at: alarmAt) }
    }

    private func answered(_ event: Event, _ relays: [RelayURL], _ results: [RelayURL: PublishResult]) {
        let lacking = state.withLock { $0.schedule.answered(event, at: relays, results, now: now()) }
        let given = relays.filter { results[$0] == .accepted }
        if !given.isEmpty {
            logger.info("Advertised", metadata: ["relays": "\(given.map(\.text).joined(separator: ", "))"])
        }
        for relay in lacking {
            let isRefused = if case .refused = results[relay] { true } else { false }
            logger.notice(
                "A relay rejected the advertisement; retrying later",
                metadata: ["relay": "\(relay.text)", "reason": isRefused ? "refused" : "no answer"]
            )
        }
        publishDue()
    }

    /// Publishes at the due relays. An alarm that rings early is set again.
    private func ring(at time: Timestamp) {
        alarm.ring(at: time) { [weak self] in
            guard let self else { return }
            if now() < time { ring(at: time) } else { publishDue() }
        }
    }
}

/// Decides when to publish the advertisement at each relay that needs it. It performs no I/O; the caller supplies the
/// time.
struct AdvertisementSchedule {
    private struct Attempt {
        /// Nil while an attempt is in progress.
        var at: Timestamp?
        /// The pause when no relay responds.
        var pause: Duration
    }

    private static let shortestPause: Duration = .minutes(1)
    private static let longestPause: Duration = .hours(1)

    private let relays: [RelayURL]
    /// The relays at which other cluster members publish.
    private var elsewhere: Set<RelayURL> = []
    private var lacking: [RelayURL: Attempt] = [:]
    private(set) var event: Event?

    init(relays: [RelayURL]) {
        self.relays = relays
    }

    /// When to call ``due(at:)`` again; nil: not before a result arrives.
    var nextAttempt: Timestamp? { lacking.filter { !elsewhere.contains($0.key) }.values.compactMap(\.at).min() }

    /// Excludes the relays for which `isHere` is false. A relay that returns gets the events that it lacks.
    mutating func limit(to isHere: (RelayURL) -> Bool) { elsewhere = Set(relays.filter { !isHere($0) }) }

    /// Replaces the advertised event and sends the new one to each relay.
    mutating func advertise(_ event: Event, now: Timestamp) {
        self.event = event
        for relay in relays { lacking[relay] = Attempt(at: now, pause: Self.shortestPause) }
    }

    /// The relays to publish at by now.
    mutating func due(at now: Timestamp) -> [RelayURL] {
        let due = relays.filter { relay in
            !elsewhere.contains(relay) && lacking[relay]?.at.map { $0 <= now } ?? false
        }
        for relay in due { lacking[relay]?.at = nil }
        return due
    }

    /// Takes the results of `event` at `attempted`. Returns the relays without it; results of a replaced advertisement
    /// are ignored.
    mutating func answered(
        _ event: Event,
        at attempted: [RelayURL],
        _ results: [RelayURL: PublishResult],
        now: Timestamp
    ) -> [RelayURL] {
        guard event == self.event else { return [] }
        return attempted.filter { relay in
            guard let attempt = lacking[relay] else { return false }
            switch results[relay] ?? .unanswered {
            case .accepted:
                lacking[relay] = nil
                return false
            case .refused:
                lacking[relay]?.at = now + Self.longestPause
            case .unanswered:
                lacking[relay] = Attempt(at: now + attempt.pause, pause: min(attempt.pause * 2, Self.longestPause))
            }
            return true
        }
    }
}

/// Updates the descriptions of the router for clients: the relay's documents and the advertisement.
struct Announcer: Sendable {
    private let plane: DataPlane

    init(_ plane: DataPlane) { self.plane = plane }

    private var logger: Logger { plane.environment.logger }

    /// Does nothing if nothing changed since the last call, or if the relay socket does not listen yet.
    func announce() {
        guard let port = plane.sockets.port else { return }
        let (configuration, registry) = (plane.settings.configuration, plane.stores.registry)
        let (transports, advertising) = (plane.outgoing.transports, plane.relays.advertising)
        if advertising.first?.event == nil, configuration.relay.url.isEmpty, !configuration.relays.publish.isEmpty {
            logger.warning("relay.url is not set, so other machines cannot use the advertised address")
        }
        let terms = PushTerms(
            platforms: transports.current.platforms,
            limits: configuration.registrationLimits,
            apps: transports.statuses.clients
        )
        do {
            let advertisement = try Advertisement(configuration: configuration, port: port, terms)
            let key = registry.keys.names.current.key
            try plane.sockets.server.inform(
                configuration.relayInformation(of: key, terms),
                discovery: advertisement.document(of: key)
            )
            for advertising in advertising {
                try advertising.advertise(
                    advertisement,
                    stored: registry.storedEvents(of: advertising.key),
                    keep: { try registry.keep($0) }
                )
            }
        } catch {
            logger.error("Failed to store the advertisement; nothing was advertised", metadata: ["error": "\(error)"])
        }
    }
}
