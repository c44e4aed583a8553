import HTTPLanes
import Logging
import NIOConcurrencyHelpers
import NIOCore
import Units

/// One relay of a pool: opens and closes its connection, and has a conversation over it.
///
/// `@unchecked Sendable`: it lives on its event loop. Other threads reach it through ``RelayDirectory``, which hops
/// there; they may read the constants and the published status.
final class RelayLink: @unchecked Sendable {
    let url: RelayURL
    let loop: any EventLoop
    private let environment: RelayEnvironment
    private let directory: RelayDirectory
    private let published: NIOLockedValueBox<RelayStatus>

    private let conversation: RelayConversation
    private var life: ConnectionLife
    private var information: KnownLimitation
    private var rank: RelayRank
    private var isOpen = false
    /// Whether the connection was closed only to open the next, which has not happened yet.
    private var isRenewing = false
    private var lastFailure: ConnectionFailure?
    private var hasSkipped = false
    private var alarm = LoopAlarm<Deadline>()
    /// Fulfilled when nothing of this is open any longer.
    private var end: EventLoopPromise<Void>?
    private var isStopping = false
    /// Calls of the directory that were run. The relay may be forgotten only when all were.
    private var callsRun = 0

    init(
        url: RelayURL,
        loop: any EventLoop,
        rank: RelayRank,
        environment: RelayEnvironment,
        directory: RelayDirectory
    ) {
        self.url = url
        self.loop = loop
        self.rank = rank
        self.environment = environment
        self.directory = directory
        life = ConnectionLife(pauses: environment.pauses, idle: environment.limits.idle)
        information = KnownLimitation(age: environment.limits.informationAge)
        conversation = RelayConversation(url: url, environment: environment, loop: loop)
        published = NIOLockedValueBox(RelayStatus(url: url))
        conversation.link = self
        _ = life.set(mayRest: !rank.isOperators, now: loop.time)
    }

    /// The current status, on any thread.
    var status: RelayStatus { published.withLockedValue { $0 } }

    func run(_ call: (RelayConversation) -> Void) {
        callsRun += 1
        call(conversation)
        review()
    }

    func set(_ rank: RelayRank) {
        callsRun += 1
        let wasKept = self.rank.isKept
        self.rank = rank
        perform(life.set(mayRest: !rank.isOperators, now: loop.time))
        if wasKept != rank.isKept { conversation.watchOwnKey(at: rank.isKept ? .operators : .users) }
        review()
    }

    /// Asks for other kinds over a new connection, which continues reading where the one before stopped.
    func ask(for kinds: RequestedKinds) {
        conversation.ask(for: kinds)
        if isOpen {
            isRenewing = true
            perform(life.rest(for: .zero, now: loop.time))
        }
        review()
    }

    /// There is a place among the connections being opened.
    func placed() {
        perform(life.placed())
        review()
    }

    /// Closes the connection for good. Waits up to `patience` for events that are not settled.
    func stop(patience: Duration, _ promise: EventLoopPromise<Void>) {
        end = promise
        isStopping = true
        // The directory has released this already, but a connection that is closing still needs it.
        promise.futureResult.whenComplete { _ in withExtendedLifetime(self) {} }
        conversation.abandon()
        guard conversation.isWorking, isOpen else { return stopNow() }
        let bound = NIOLoopBound(self, eventLoop: loop)
        alarm.cancel()
        alarm.set(at: loop.time + patience, in: patience, on: loop) { bound.value.stopNow() }
    }

    /// The session has acted.
    func conversed() {
        review()
    }

    /// Events that were handed over are settled.
    func settled() {
        if isStopping, !conversation.isWorking { stopNow() }
    }

    /// The relay refuses everything.
    func rest(for span: Duration) {
        perform(life.rest(for: span, now: loop.time))
    }

    /// Some of what the relay holds cannot be read.
    func leftUnread(_ times: Int) {
        log(
            .warning,
            "A relay holds more events of one second, or more in all, than it can be asked for; some may be unread",
            ["times": "\(times)"]
        )
    }

    /// A message of the relay is too long and is read past.
    func skippedMessage() {
        guard !hasSkipped else { return }
        hasSkipped = true
        log(
            .warning,
            "A relay sends messages over the size limit; each is skipped and counted, and this is said once",
            ["limit": "\(environment.limits.messageBytes.bytes)"]
        )
    }

    /// The relay's registrations are mostly for others.
    func foundTooManyRegistrations() {
        log(
            .warning,
            "A relay has too many registrations for other routers; named devices are found there by a p tag with our key only",
            [:]
        )
    }

    /// The open connection has ended.
    func ended(_ failure: ConnectionFailure?) {
        isOpen = false
        failed(failure)
    }

    private func perform(_ action: ConnectionLife.Action) {
        switch action {
        case .nothing: break
        // The operator's few relays need no place.
        case .queue: if rank.isOperators || directory.takePlace(url) { perform(life.placed()) }
        case .passOn: directory.leavePlace(url)
        case .open: open()
        case .close: conversation.leave()
        }
    }

    private func open() {
        fetchInformation()
        environment.connector.connect(to: url, isGuarded: !rank.isOperators, on: loop)
            .assumeIsolated()
            .whenComplete { result in
                switch result {
                case .success(let wire): self.opened(wire.value)
                case .failure(let error): self.failed(error as? ConnectionFailure ?? .unreachable)
                }
            }
    }

    private func opened(_ wire: RelayWire) {
        isOpen = true
        isRenewing = false
        lastFailure = nil
        conversation.attach(wire)
        perform(life.opened(now: loop.time))
        if let limitation = information.limitation { begin(limitation) }
        log(.info, "Connected to a relay", [:])
        review()
    }

    /// A relay keeps its place until its document is here, which limits how many documents are fetched at a time.
    private func begin(_ limitation: RelayLimitation) {
        directory.leavePlace(url)
        conversation.begin(limitation)
    }

    private func failed(_ failure: ConnectionFailure?) {
        directory.leavePlace(url)
        if let failure {
            isRenewing = false
            log(
                lastFailure == failure ? .debug : .warning,
                "A relay is not connected",
                ["reason": "\(failure.rawValue)"]
            )
        }
        lastFailure = failure
        perform(life.ended(now: loop.time, jitter: environment.jitter()))
        review()
        if life.state == .over { fulfill() }
    }

    private func fulfill() {
        end?.succeed()
        end = nil
    }

    private func fetchInformation() {
        guard information.begin(now: loop.time) else { return }
        let request = HTTPRequest(
            method: "GET",
            url: url.informationURL,
            headers: [HTTPField("accept", "application/nostr+json")],
            timeout: environment.limits.information,
            untrustedURL: !rank.isOperators
        )
        let bound = NIOLoopBound(self, eventLoop: loop)
        environment.http.send(request) { [loop] result in
            loop.execute { bound.value.informed(result) }
        }
    }

    private func informed(_ result: Result<HTTPResponse, HTTPFailure>) {
        let limitation = information.end(result, now: loop.time)
        if isOpen { begin(limitation) }
    }

    private func stopNow() {
        alarm.cancel()
        guard life.state != .over else { return }
        perform(life.stop())
        publish()
        if !isOpen { fulfill() }
    }

    /// Checks whether a connection is needed, when to act next, and whether the relay can be forgotten.
    private func review() {
        guard !isStopping else { return publish() }
        perform(life.need(rank.isKept || conversation.isNeeded, now: loop.time))
        schedule()
        publish()
        if life.isForgettable, !rank.isKept, !conversation.isNeeded, !conversation.isWorking {
            directory.forget(url, callsRun: callsRun)
        }
    }

    private func schedule() {
        guard let next = life.nextTick else { return alarm.cancel() }
        let bound = NIOLoopBound(self, eventLoop: loop)
        alarm.set(at: next, in: next - loop.time, on: loop) { bound.value.tick() }
    }

    private func tick() {
        alarm.passed()
        perform(life.tick(now: loop.time))
        review()
    }

    private func publish() {
        var status = RelayStatus(url: url)
        status.state = state
        status.isRenewing = isRenewing
        status.isOperators = rank.isOperators
        status.keys = conversation.keyCount
        status.isAskedByKind = conversation.isAskedByKind
        status.requestsSent = conversation.requestsSent
        status.lastFailure = lastFailure
        published.withLockedValue { $0 = status }
    }

    private var state: RelayStatus.State {
        switch life.state {
        case .idle, .over: .idle
        case .waiting(let until): .waiting(until: environment.now() + max(.zero, until - loop.time))
        case .queued: .waiting(until: environment.now())
        case .opening: .connecting
        case .open, .closing: .connected
        }
    }

    /// Which relays a user has is private: only the operator's relays are named.
    private func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) {
        var metadata = metadata
        if rank.isOperators { metadata["relay"] = "\(url.text)" }
        environment.logger.log(level: rank.isOperators ? level : .debug, message, metadata: metadata)
    }
}
