import Core
import HTTPClient
import Logging
import NIOCore
import Synchronization

/// One relay of a pool: opens and closes its connection and owns the conversation.
///
/// `@unchecked Sendable`: it is bound to its event loop. Other threads reach it through ``RelayPool``, which hops
/// there; they may read the constants and the published status.
final class RelayLink: @unchecked Sendable {
    let url: RelayURL
    let loop: any EventLoop
    private let pool: RelayPool
    private let published: Mutex<RelayStatus>

    private let conversation: RelayConversation
    private var life: ConnectionLife
    private var information: KnownLimitation
    private var rank: RelayRank
    private var isOpen = false
    /// Whether the connection was closed only to reconnect, which has not completed yet.
    private var isRenewing = false
    private var lastFailure: ConnectionError?
    private var alarm = LoopAlarm<Deadline>()
    /// Fulfilled when the connection is closed.
    private var end: EventLoopPromise<Void>?
    private var isStopping = false
    /// The number of completed calls from the pool. The relay may be forgotten only after all of them.
    private var callsRun = 0

    init(url: RelayURL, loop: any EventLoop, rank: RelayRank, session: SessionSettings, pool: RelayPool) {
        self.url = url
        self.loop = loop
        self.rank = rank
        self.pool = pool
        life = ConnectionLife(pauses: pool.configuration.pauses, idle: pool.configuration.limits.idle)
        information = KnownLimitation(age: pool.configuration.limits.informationAge)
        conversation = RelayConversation(url: url, session: session, pool: pool, loop: loop)
        published = Mutex(RelayStatus(url: url))
        conversation.link = self
        _ = life.set(mayRest: !rank.isOperators, now: loop.time)
    }

    /// The current status, on any thread.
    var status: RelayStatus { published.withLock { $0 } }

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

    /// Requests other kinds over a new connection, which continues reading where the previous one stopped.
    func ask(for kinds: RequestedKinds) {
        conversation.session.settings.requestedKinds = kinds
        if isOpen {
            isRenewing = true
            perform(life.rest(for: .zero, now: loop.time))
        }
        review()
    }

    /// Takes a slot among the connections being opened.
    func placed() {
        perform(life.placed())
        review()
    }

    /// Closes the connection permanently. Waits up to `timeout` for unsettled events.
    func stop(timeout: Duration, _ promise: EventLoopPromise<Void>) {
        end = promise
        isStopping = true
        // The pool has already released this object, but a closing connection still needs it.
        promise.futureResult.whenComplete { _ in withExtendedLifetime(self) {} }
        conversation.abandon()
        guard conversation.isWorking, isOpen else { return stopNow() }
        let bound = NIOLoopBound(self, eventLoop: loop)
        alarm.cancel()
        alarm.set(at: loop.time + timeout, in: timeout, on: loop) { bound.value.stopNow() }
    }

    /// Notes that events were settled.
    func settled() {
        if isStopping, !conversation.isWorking { stopNow() }
    }

    /// Disconnects for that long, because the relay refuses all requests.
    func rest(for span: Duration) {
        perform(life.rest(for: span, now: loop.time))
    }

    /// Handles the end of the open connection.
    func ended(_ failure: ConnectionError?) {
        isOpen = false
        failed(failure)
    }

    private func perform(_ action: ConnectionLife.Action) {
        switch action {
        case .nothing: break
        // The operator's relays are few and need no slot.
        case .queue: if rank.isOperators || pool.takePlace(url) { perform(life.placed()) }
        case .passOn: pool.leavePlace(url)
        case .open: open()
        case .close: conversation.wire?.close()
        }
    }

    private func open() {
        fetchInformation()
        pool.connector.connect(to: url, isGuarded: !rank.isOperators, on: loop)
            .assumeIsolated()
            .whenComplete { result in
                switch result {
                case .success(let wire): self.opened(wire.value)
                case .failure(let error): self.failed(error as? ConnectionError ?? .unreachable)
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
        log(.info, "Connected to a relay")
        review()
    }

    /// A relay keeps its slot until its document is fetched, which limits concurrent fetches of documents.
    private func begin(_ limitation: RelayLimitation) {
        pool.leavePlace(url)
        conversation.begin(limitation)
    }

    private func failed(_ failure: ConnectionError?) {
        pool.leavePlace(url)
        if let failure {
            isRenewing = false
            log(
                lastFailure == failure ? .debug : .warning,
                "A relay is not connected",
                ["reason": "\(failure.rawValue)"]
            )
        }
        lastFailure = failure
        perform(life.ended(now: loop.time, jitter: pool.configuration.pauses.jitter()))
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
            timeout: pool.configuration.limits.information,
            untrustedURL: !rank.isOperators
        )
        let bound = NIOLoopBound(self, eventLoop: loop)
        pool.http.send(request) { [loop] result in
            loop.execute { bound.value.informed(result) }
        }
    }

    private func informed(_ result: Result<HTTPResponse, HTTPError>) {
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
    func review() {
        guard !isStopping else { return publish() }
        perform(life.need(rank.isKept || conversation.isNeeded, now: loop.time))
        schedule()
        publish()
        if life.isForgettable, !rank.isKept, !conversation.isNeeded, !conversation.isWorking {
            pool.forget(url, callsRun: callsRun)
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
        let session = conversation.session
        status.keys = session.keyCount
        status.isAskedByKind = session.live.policy.isAskedByKind
        status.requestsSent = Int(session.requests.lastNumber)
        status.lastFailure = lastFailure
        published.withLock { $0 = status }
    }

    private var state: RelayStatus.State {
        switch life.state {
        case .idle, .over: .idle
        case .waiting(let until): .waiting(until: pool.now() + max(.zero, until - loop.time))
        case .queued: .waiting(until: pool.now())
        case .opening: .connecting
        case .open, .closing: .connected
        }
    }

    /// A user's list of relays is private: only the operator's relays are named.
    func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]) {
        var metadata = metadata
        if rank.isOperators { metadata["relay"] = "\(url.text)" }
        pool.logger.log(level: rank.isOperators ? level : .debug, message, metadata: metadata)
    }
}
