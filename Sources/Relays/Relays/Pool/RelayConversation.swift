import Core
import HTTPClient
import Logging
import NIOCore
import Nostr
import Synchronization

/// The shell around a ``RelaySession``: turns messages into its inputs, and its actions into messages, batches for the
/// delegate and results for callers. Bound to one event loop.
///
/// It starts when the information document (NIP-11) is available or its fetch failed. It pauses reading while too many
/// events are unsettled.
final class RelayConversation: RelayWireOwner {
    /// The number of malformed messages after which a connection is closed.
    private static let maxUnanswered = 100
    /// The limit of messages without effect, such as notices, on one connection.
    private static let idleTalk = (burst: 1_000.0, perSecond: 10.0)
    /// The number of challenges (NIP-42) that are tolerated on one connection.
    private static let challengesTolerated = 3

    let url: RelayURL
    private let pool: RelayPool
    private let loop: any EventLoop
    /// The owner of the connection.
    weak var link: RelayLink?
    var session: RelaySession
    private var pending = PendingRequests()
    private var batches: EventBatches
    private var prefilter: OrderedPrefilter
    private(set) var wire: RelayWire?
    /// Messages that arrived before the session started.
    private var early: [ByteBuffer] = []
    private var hasBegun = false
    private var isOver = false
    private var malformed = 0
    private var challenges = 0
    private var unansweredReported = 0
    /// Whether it was logged that messages over the limit are skipped.
    private var hasSkipped = false
    /// Events since the last report to the violation table, and how many were passed on. This avoids a lock for each
    /// event.
    private var arrived = (events: 0, unasked: 0, handedOver: 0)
    /// The time of the current read. This avoids a clock access for each event.
    private var readAt: Timestamp?
    /// Whether the router ended the connection for a violation that is already counted.
    private var isDisconnected = false
    private var idleTalk: TokenBucket
    private var alarm = LoopAlarm<Timestamp>()

    init(url: RelayURL, session settings: SessionSettings, pool: RelayPool, loop: any EventLoop) {
        self.url = url
        self.pool = pool
        self.loop = loop
        session = RelaySession(settings: settings)
        _ = session.watchOwnKey(at: .users, now: pool.now())
        batches = EventBatches(limits: pool.configuration.limits)
        prefilter = OrderedPrefilter(pool.delegate.prefilter())
        let (burst, perSecond) = Self.idleTalk
        idleTalk = TokenBucket(capacity: burst, perSecond: perSecond, now: pool.now())
    }

    /// Whether a connection is needed.
    var isNeeded: Bool { session.keyCount > 0 || session.hasPendingRequests }
    /// Whether the delegate has unsettled events.
    var isWorking: Bool { !batches.isSettled }
    var wantsMore: Bool { hasBegun && !isOver && !batches.isFull }

    func update(_ changes: [WatchChange]) {
        perform(session.update(changes, now: pool.now()))
    }

    func watchOwnKey(at place: OwnWatch.Place) {
        perform(session.watchOwnKey(at: place, now: pool.now()))
    }

    func publish(_ publication: PublishTally) {
        guard pending.add(publication) else { return }
        let now = pool.now()
        perform(session.publish(publication.event, deadline: now + pool.configuration.limits.publishing, now: now))
    }

    func fetch(_ fetch: FetchTally) {
        let number = pending.add(fetch)
        let now = pool.now()
        perform(session.fetch(number, fetch.filters, deadline: now + fetch.time, now: now))
    }

    /// Takes over an open connection without sending data yet.
    func attach(_ wire: RelayWire) {
        self.wire = wire
        malformed = 0
        challenges = 0
        isDisconnected = false
        wire.attach(to: self)
    }

    /// Starts sending on the open connection.
    func begin(_ limitation: RelayLimitation) {
        guard wire != nil, !hasBegun else { return }
        hasBegun = true
        perform(session.connected(limitation: limitation, mark: pool.delegate.mark(of: url), now: pool.now()))
        let messages = early
        early = []
        for message in messages { received(message) }
        receivedAll()
        wire?.resume()
    }

    /// Ends all pending requests and stops reading, so that the delegate can settle the events already read.
    func abandon() {
        isOver = true
        alarm.cancel()
        pending.abandon(at: url)
    }

    func received(_ message: ByteBuffer) {
        guard hasBegun else { return early.append(message) }
        message.withUnsafeReadableBytes { bytes in
            do throws(MessageError) {
                switch try ReceivedRelayMessage(bytes) {
                case .event(let subscription, let range):
                    take(UnsafeRawBufferPointer(rebasing: bytes[range]), on: subscription)
                case let other:
                    let now = pool.now()
                    listen(to: other)
                    let actions = session.receive(other, now: now)
                    perform(actions)
                    if actions.isEmpty, !idleTalk.take(at: now) { disconnect(for: .flood) }
                }
            } catch {
                // Unknown commands belong to extensions and are not errors.
                if case .unknownCommand = error { return }
                malformed += 1
                pool.behavior.note(.malformed, by: url)
                if malformed >= Self.maxUnanswered { disconnect() }
            }
        }
    }

    /// The relay's other messages arrive after this one, so open requests must not time out.
    func passes(isNew: Bool) {
        let now = pool.now()
        session.passes(now: now)
        guard isNew else { return }
        pool.behavior.note(.tooLong, by: url)
        pool.delegate.couldNotRead(1, at: url)
        if !hasSkipped {
            hasSkipped = true
            link?.log(
                .warning,
                "A relay sent a message over the size limit; more are skipped and counted without a log line",
                ["limit": "\(pool.configuration.limits.messageBytes.bytes)"]
            )
        }
        if !idleTalk.take(at: now) { disconnect(for: .flood) }
    }

    /// Ends the connection because of a violation. `violation` is nil if it is already counted.
    private func disconnect(for violation: RelayViolation? = nil) {
        guard !isDisconnected else { return }
        isDisconnected = true
        if let violation { pool.behavior.note(violation, by: url) }
        wire?.fail(.protocolError)
    }

    /// Keeps the relay's message, and counts refusals and challenges.
    private func listen(to message: ReceivedRelayMessage) {
        let behavior = pool.behavior
        switch message {
        case .notice(let text): behavior.said("NOTICE", text, isRefusal: false, by: url)
        case .closed(_, let text): behavior.said("CLOSED", text, isRefusal: true, by: url)
        case .ok(_, false, let text): behavior.said("OK", text, isRefusal: true, by: url)
        case .authenticate:
            challenges += 1
            if challenges > Self.challengesTolerated { behavior.note(.challenges, by: url) }
        case .event, .ok, .endOfStoredEvents: break
        }
    }

    /// Reports the events since the last report to the violation table.
    private func report() {
        if arrived.events > 0 { pool.behavior.received(arrived.events, from: url) }
        pool.behavior.note(.unasked, arrived.unasked, by: url)
        arrived = (0, 0, 0)
        prefilter.report()
        let unanswered = session.requests.unanswered
        pool.behavior.note(.unanswered, unanswered - unansweredReported, by: url)
        unansweredReported = unanswered
    }

    @discardableResult
    func receivedAll() -> Int {
        readAt = nil
        guard hasBegun else { return 0 }
        let wanted = arrived.handedOver
        report()
        handOver(batches.takeAll())
        scheduleTick()
        return wanted
    }

    func ended(_ failure: ConnectionError?) {
        receivedAll()
        if !isDisconnected, let violation = failure.flatMap(RelayViolation.init(endOf:)) {
            pool.behavior.note(violation, by: url)
        }
        wire = nil
        early = []
        if hasBegun {
            hasBegun = false
            perform(
                session.disconnected(
                    isClean: failure == nil && batches.isSettled,
                    isMessageTooLong: failure == .messageRefused,
                    now: pool.now()
                )
            )
        }
        link?.ended(failure)
    }

    private func take(_ event: UnsafeRawBufferPointer, on subscription: SubscriptionID) {
        arrived.events += 1
        let now = readAt ?? pool.now()
        readAt = now
        guard let arrival = session.received(event, on: subscription, now: now) else {
            if !session.requests.wasOpened(subscription) { arrived.unasked += 1 }
            return
        }
        // Sweeps request events by key, so their events are not prefiltered.
        let finding = arrival.reading == .live ? prefilter.finding(of: event) : .mayConcernSomebody
        guard finding != .irrelevant else { return session.passedOver(arrival) }
        arrived.handedOver += 1
        let full = batches.add(Array(event), arrival, mayRegister: finding == .mayRegister)
        if let full { handOver([full]) }
    }

    private func handOver(_ batches: [EventBatches.Batch]) {
        for batch in batches {
            let bound = NIOLoopBound(self, eventLoop: loop)
            pool.delegate.received(batch.events, from: url, batch.reading) { [loop] isDealtWith in
                loop.execute { bound.value.settled(batch, isDealtWith) }
            }
        }
    }

    private func settled(_ batch: EventBatches.Batch, _ isDealtWith: [Bool]) {
        batches.settle(batch)
        prefilter.settled(registering: batch.registering)
        perform(session.settled(batch.arrivals, batch.events, isDealtWith: isDealtWith, now: pool.now()))
        wire?.resume()
        link?.settled()
    }

    private func perform(_ actions: [RelayAction]) {
        for action in actions { perform(action) }
        wire?.flush()
        scheduleTick()
        if !actions.isEmpty { link?.review() }
    }

    private func perform(_ action: RelayAction) {
        switch action {
        case .send(let command):
            wire?.write(command.json)
        case .authenticate(let challenge):
            authenticate(challenge)
        case .established(let keys):
            pool.delegate.established(keys, at: url)
        case .marked(let moment):
            pool.delegate.marked(url, upTo: moment)
        case .unread(let times):
            pool.delegate.couldNotRead(times, at: url)
            link?.log(
                .warning,
                "A relay has more events of one second, or in total, than can be read; some may be unread",
                ["times": "\(times)"]
            )
        case .tooManyRegistrations:
            link?.log(
                .warning,
                "A relay has too many registrations for other routers; it finds named devices only by a p tag"
            )
        case .fetchAnswered(let number): pending.fetches[number]?.noteAnswer()
        case .fetchEnded(let number):
            handOver(batches.takeAll())
            pending.fetches.removeValue(forKey: number)?.end(url)
        case .publishEnded(let id, let isAccepted, let message):
            let result = PublishResult(isAccepted: isAccepted, message: message)
            for publication in pending.publications.removeValue(forKey: id) ?? [] { publication.add(result, from: url) }
        case .rest(let until):
            link?.rest(for: until - pool.now())
        }
    }

    /// Authenticates at the relay (NIP-42). If signing fails, the relay keeps refusing, and the refusals are reported.
    private func authenticate(_ challenge: String) {
        let now = pool.now()
        guard
            let event = try? Event.signed(
                kind: .clientAuthentication,
                createdAt: now.seconds,
                tags: [["relay", url.text], ["challenge", challenge]],
                by: pool.identity
            )
        else { return }
        perform(session.signed(event, now: now))
    }

    private func scheduleTick() {
        guard let next = session.requests.nextTick, !isOver else { return alarm.cancel() }
        let bound = NIOLoopBound(self, eventLoop: loop)
        alarm.set(at: next, in: next - pool.now(), on: loop) { bound.value.tick() }
    }

    private func tick() {
        alarm.passed()
        perform(session.tick(now: pool.now()))
        report()
    }
}

/// A resettable timer of an event loop, for moments of one clock.
struct LoopAlarm<Moment: Equatable> {
    private var task: (at: Moment, scheduled: Scheduled<Void>)?

    /// Schedules `action` for `moment`, which is in `wait`, and cancels the previous one.
    mutating func set(
        at moment: Moment,
        in wait: Duration,
        on loop: any EventLoop,
        _ action: @escaping @Sendable () -> Void
    ) {
        guard task?.at != moment else { return }
        task?.scheduled.cancel()
        task = (moment, loop.scheduleTask(in: .milliseconds(max(1, wait.milliseconds)), action))
    }

    mutating func cancel() {
        task?.scheduled.cancel()
        task = nil
    }

    /// Clears the timer. The action must call this first.
    mutating func passed() { task = nil }
}
