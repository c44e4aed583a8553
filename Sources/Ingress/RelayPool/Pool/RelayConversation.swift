import HTTPLanes
import Logging
import NIOConcurrencyHelpers
import NIOCore
import Nostr
import RateLimits
import Units

/// The shell around a ``RelaySession``: turns messages into its inputs and its actions into messages, batches for the
/// delegate and answers to whoever published or fetched. Lives on one event loop.
///
/// It begins when the information document (NIP-11) is here or could not be had. It reads on only while few enough
/// events are unsettled.
final class RelayConversation: RelayWireOwner {
    /// After so many malformed messages a connection is closed.
    private static let patience = 100
    /// Messages without effect, such as notices, that one connection may bring at once and a second.
    private static let idleTalk = (burst: 1_000.0, perSecond: 10.0)
    /// Challenges (NIP-42) of one connection that are no offence.
    private static let challengesTolerated = 3

    let url: RelayURL
    private let environment: RelayEnvironment
    private let loop: any EventLoop
    /// Who opens and closes connections.
    weak var link: RelayLink?
    private var session: RelaySession
    private var pending = PendingRequests()
    private var batches: EventBatches
    private var screening: OrderedScreening
    private var wire: RelayWire?
    /// Messages that came before the session could begin.
    private var early: [ByteBuffer] = []
    private var hasBegun = false
    private var isOver = false
    private var malformed = 0
    private var challenges = 0
    private var unansweredReported = 0
    /// What came since the last report to the book, and how much of it was handed over: a lock is not for each event.
    private var arrived = (events: 0, unasked: 0, handedOver: 0)
    /// The moment of the read that is worked on: a clock is not for each event.
    private var readAt: Timestamp?
    /// Whether we ended the connection for an offence that is counted already.
    private var isRebuked = false
    private var idleTalk: TokenBucket
    private var alarm = LoopAlarm<Timestamp>()

    init(url: RelayURL, environment: RelayEnvironment, loop: any EventLoop) {
        self.url = url
        self.environment = environment
        self.loop = loop
        var settings = environment.session
        settings.requestedKinds = environment.kinds.withLockedValue { $0 }
        session = RelaySession(settings: settings)
        _ = session.watchOwnKey(at: .users, now: environment.now())
        batches = EventBatches(limits: environment.limits)
        screening = OrderedScreening(environment.screening())
        let (burst, perSecond) = Self.idleTalk
        idleTalk = TokenBucket(capacity: burst, perSecond: perSecond, now: environment.now())
    }

    var keyCount: Int { session.keyCount }
    var isAskedByKind: Bool { session.isAskedByKind }
    var requestsSent: Int { session.requestsSent }
    /// Whether there is a reason for a connection.
    var isNeeded: Bool { session.keyCount > 0 || session.hasPendingRequests }
    /// Whether events are handed over and not settled.
    var isWorking: Bool { !batches.isSettled }
    var wantsMore: Bool { hasBegun && !isOver && !batches.isFull }

    func update(_ changes: [WatchChange]) {
        perform(session.update(changes, now: environment.now()))
    }

    /// Asks for other kinds from the next connection on.
    func ask(for kinds: RequestedKinds) {
        session.settings.requestedKinds = kinds
    }

    func watchOwnKey(at place: OwnWatch.Place) {
        perform(session.watchOwnKey(at: place, now: environment.now()))
    }

    func publish(_ publication: PublishTally) {
        guard pending.add(publication) else { return }
        let now = environment.now()
        perform(session.publish(publication.event, deadline: now + environment.limits.publishing, now: now))
    }

    func fetch(_ fetch: FetchTally) {
        let number = pending.add(fetch)
        let now = environment.now()
        perform(session.fetch(number, fetch.filters, deadline: now + fetch.time, now: now))
    }

    /// Takes over an open connection without sending anything yet.
    func attach(_ wire: RelayWire) {
        self.wire = wire
        malformed = 0
        challenges = 0
        isRebuked = false
        wire.attach(to: self)
    }

    /// Begins to send on the open connection.
    func begin(_ limitation: RelayLimitation) {
        guard wire != nil, !hasBegun else { return }
        hasBegun = true
        perform(session.connected(limitation: limitation, mark: environment.mark(url), now: environment.now()))
        let messages = early
        early = []
        for message in messages { received(message) }
        receivedAll()
        wire?.resume()
    }

    func leave() {
        wire?.close()
    }

    /// Tells everybody who waits that nothing will come, and stops reading, so that what was read can be settled.
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
                    let now = environment.now()
                    listen(to: other)
                    let actions = session.receive(other, now: now)
                    perform(actions)
                    if actions.isEmpty, !idleTalk.take(at: now) { rebuke(for: .flood) }
                }
            } catch {
                // Unknown commands belong to extensions and are no error.
                if case .unknownCommand = error { return }
                malformed += 1
                environment.conduct.note(.malformed, by: url)
                if malformed >= Self.patience { rebuke() }
            }
        }
    }

    /// The relay's other messages arrive behind this one, so open requests must not time out.
    func passes(isNew: Bool) {
        let now = environment.now()
        session.passes(now: now)
        guard isNew else { return }
        environment.conduct.note(.tooLong, by: url)
        environment.delegate.couldNotRead(1, at: url)
        link?.skippedMessage()
        if !idleTalk.take(at: now) { rebuke(for: .flood) }
    }

    /// Ends the connection for what the relay does. `offence` is nil where that is counted already.
    private func rebuke(for offence: RelayOffence? = nil) {
        guard !isRebuked else { return }
        isRebuked = true
        if let offence { environment.conduct.note(offence, by: url) }
        wire?.fail(.protocolError)
    }

    /// Keeps the relay's words, and counts what they say.
    private func listen(to message: ReceivedRelayMessage) {
        let conduct = environment.conduct
        switch message {
        case .notice(let text): conduct.said("NOTICE", text, isRefusal: false, by: url)
        case .closed(_, let text): conduct.said("CLOSED", text, isRefusal: true, by: url)
        case .ok(_, false, let text): conduct.said("OK", text, isRefusal: true, by: url)
        case .authenticate:
            challenges += 1
            if challenges > Self.challengesTolerated { conduct.note(.challenges, by: url) }
        case .event, .ok, .endOfStoredEvents: break
        }
    }

    /// Tells the book what came since the last time.
    private func report() {
        if arrived.events > 0 { environment.conduct.received(arrived.events, from: url) }
        environment.conduct.note(.unasked, arrived.unasked, by: url)
        arrived = (0, 0, 0)
        screening.report()
        let unanswered = session.requestsUnanswered
        environment.conduct.note(.unanswered, unanswered - unansweredReported, by: url)
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

    func ended(_ failure: ConnectionFailure?) {
        receivedAll()
        if !isRebuked, let offence = failure.flatMap(RelayOffence.init(endOf:)) {
            environment.conduct.note(offence, by: url)
        }
        wire = nil
        early = []
        if hasBegun {
            hasBegun = false
            perform(
                session.disconnected(
                    isClean: failure == nil && batches.isSettled,
                    isMessageTooLong: failure == .messageRefused,
                    now: environment.now()
                )
            )
        }
        link?.ended(failure)
    }

    private func take(_ event: UnsafeRawBufferPointer, on subscription: SubscriptionID) {
        arrived.events += 1
        let now = readAt ?? environment.now()
        readAt = now
        guard let arrival = session.received(event, on: subscription, now: now) else {
            if !session.wasOpened(subscription) { arrived.unasked += 1 }
            return
        }
        // What sweeps read names the keys that they ask for.
        let finding = arrival.reading == .live ? screening.finding(of: event) : .mayConcernSomebody
        guard finding != .concernsNobody else { return session.passedOver(arrival) }
        arrived.handedOver += 1
        let full = batches.add(Array(event), arrival, mayRegister: finding == .mayRegister)
        if let full { handOver([full]) }
    }

    private func handOver(_ batches: [EventBatches.Batch]) {
        for batch in batches {
            let bound = NIOLoopBound(self, eventLoop: loop)
            environment.delegate.received(batch.events, from: url, batch.reading) { [loop] isDealtWith in
                loop.execute { bound.value.settled(batch, isDealtWith) }
            }
        }
    }

    private func settled(_ batch: EventBatches.Batch, _ isDealtWith: [Bool]) {
        batches.settle(batch)
        screening.settled(registering: batch.registering)
        perform(
            session.settled(batch.arrivals, batch.events, isDealtWith: isDealtWith, now: environment.now())
        )
        wire?.resume()
        link?.settled()
    }

    private func perform(_ actions: [RelayAction]) {
        for action in actions { perform(action) }
        wire?.flush()
        scheduleTick()
        if !actions.isEmpty { link?.conversed() }
    }

    private func perform(_ action: RelayAction) {
        switch action {
        case .send(let command):
            wire?.write(command.json)
        case .authenticate(let challenge):
            authenticate(challenge)
        case .established(let keys):
            environment.delegate.established(keys, at: url)
        case .marked(let moment):
            environment.delegate.marked(url, upTo: moment)
        case .unread(let times):
            environment.delegate.couldNotRead(times, at: url)
            link?.leftUnread(times)
        case .tooManyRegistrations:
            link?.foundTooManyRegistrations()
        case .fetchAnswered(let number): pending.noteAnswer(number)
        case .fetchEnded(let number):
            handOver(batches.takeAll())
            pending.takeFetch(number)?.end(url)
        case .publishEnded(let id, let isAccepted, let message):
            let result = PublishResult(isAccepted: isAccepted, message: message)
            for publication in pending.takePublications(id) { publication.add(result, from: url) }
        case .rest(let until):
            link?.rest(for: until - environment.now())
        }
    }

    /// Proves who we are (NIP-42). If signing fails, the relay keeps refusing, and the refusals are reported.
    private func authenticate(_ challenge: String) {
        let now = environment.now()
        guard
            let event = try? Event.signed(
                kind: .clientAuthentication,
                createdAt: now.seconds,
                tags: [["relay", url.text], ["challenge", challenge]],
                by: environment.identity
            )
        else { return }
        perform(session.signed(event, now: now))
    }

    private func scheduleTick() {
        guard let next = session.nextTick, !isOver else { return alarm.cancel() }
        let bound = NIOLoopBound(self, eventLoop: loop)
        alarm.set(at: next, in: next - environment.now(), on: loop) { bound.value.tick() }
    }

    private func tick() {
        alarm.passed()
        perform(session.tick(now: environment.now()))
        report()
    }
}

/// A timer of an event loop that is set again and again, for moments of one clock.
struct LoopAlarm<Moment: Equatable> {
    private var task: (at: Moment, scheduled: Scheduled<Void>)?

    /// Has `action` run at `moment`, which is in `wait`, instead of the moment before.
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

    /// To be called first by the action.
    mutating func passed() { task = nil }
}

/// What all relays of a pool share.
struct RelayEnvironment: Sendable {
    let limits: ConnectionLimits
    let pauses: ConnectionPauses
    let session: SessionSettings
    /// The part of the session's settings that changes with the rules. It overrides ``session``.
    let kinds: NIOLockedValueBox<RequestedKinds>
    let identity: KeyPair
    let connector: RelayConnector
    let http: any HTTPSender
    let delegate: any RelayPoolDelegate
    let conduct: RelayConductBook
    /// Makes what looks at live events before they are handed over.
    let screening: @Sendable () -> (any EventScreening)?
    let mark: @Sendable (RelayURL) -> Int64?
    let now: @Sendable () -> Timestamp
    /// From 0 to 1.
    let jitter: @Sendable () -> Double
    let logger: Logger
}
