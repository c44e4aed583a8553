import Core
import NIOCore
import Synchronization

/// All connections of one route, and the requests that wait for them.
///
/// `@unchecked Sendable`: everything except the locked inbox and `lastRequest` is touched only on `loop`.
final class OriginConnections: @unchecked Sendable {
    /// State shared by the origins of a pool.
    struct PoolContext: Sendable {
        /// Opens a channel on the loop and ends its pipeline with a `ConnectionHandler` for the connection. The future
        /// completes once connected, and fails with an `HTTPError` if no channel could be made; the connection itself
        /// receives later events. The route's name is resolved again.
        var connect:
            @Sendable (NIOLoopBound<HTTP2Connection>, ConnectionRoute, _ timeout: Duration, any EventLoop) ->
                EventLoopFuture<Void>
        /// Limits and times.
        var settings: ConnectionSettings
        /// A random value from 0 to 1.
        var jitter: @Sendable () -> Double
        /// Requests start only while it is open.
        var gate: RequestGate?
        /// Takes requests of an origin that does not support HTTP/2.
        var withoutHTTP2: @Sendable (Exchange) -> Void
        /// Called on the loop of a leaving origin when it has ended.
        var left: @Sendable (OriginConnections) -> Void = { _ in }
    }

    let route: ConnectionRoute
    let loop: any EventLoop
    let settings: ConnectionSettings
    private let surroundings: PoolContext
    private let inbox = Mutex(OriginInbox())
    /// Milliseconds on the loop's clock: a `Deadline`, which cannot be atomic.
    private let lastArrival: Synchronization.Atomic<Int64>

    private var arrivals: [Exchange] = []
    private var waiting: WaitingRequests
    private var connections: [HTTP2Connection] = []
    private var plan: ConnectionPlan
    private var leftToCurlUntil: Deadline = .distantPast
    private var timer: Scheduled<Void>?
    private var timerAt: Deadline = .distantFuture
    private var isShutDown = false
    private var isLeaving: Bool
    private var isGone = false

    /// - Parameters:
    ///   - route: The destination of the connections.
    ///   - loop: Runs everything.
    ///   - surroundings: Shared with other origins.
    init(route: ConnectionRoute, loop: any EventLoop, surroundings: PoolContext) {
        self.route = route
        self.loop = loop
        self.surroundings = surroundings
        settings = surroundings.settings
        lastArrival = Synchronization.Atomic(loop.time.milliseconds)
        isLeaving = route.scope?.isRetired ?? false
        waiting = WaitingRequests(limit: settings.waitingPerOrigin)
        plan = ConnectionPlan(settings: settings)
    }

    /// When the last request arrived, on the loop's clock.
    var lastRequest: Deadline { Deadline(milliseconds: lastArrival.load(ordering: .relaxed)) }

    /// Takes a request, from any thread. Returns false once this has ended.
    func post(_ exchange: Exchange) -> Bool {
        switch inbox.withLock({ $0.post(exchange) }) {
        case .first:
            WakeUps.ask { self.loop.execute { self.drainInbox() } }
            return true
        case .joined:
            return true
        case .closed:
            return false
        }
    }

    /// Fails all outstanding requests and closes every connection.
    func shutDown() -> EventLoopFuture<Void> {
        inbox.withLock { $0.close() }
        return loop.submit {
            self.isShutDown = true
            self.drainInbox()
            for exchange in self.waiting.takeAll() { exchange.fail(.shutdown, mayHaveBeenProcessed: false) }
            for connection in self.connections { connection.close(.shutdown) }
            self.timer?.cancel()
        }
    }

    /// Counts connections and waiting requests.
    func count() -> EventLoopFuture<HTTPSnapshot.OriginCount> {
        loop.submit {
            let connecting = self.connections.count { $0.isConnecting }
            return HTTPSnapshot.OriginCount(
                connections: self.connections.count - connecting,
                connecting: connecting,
                streams: self.connections.reduce(0) { $0 + $1.inFlight },
                waiting: self.waiting.requests.count
            )
        }
    }

    /// Finishes its requests, closes its connections and ends.
    func leave() {
        loop.execute {
            self.isLeaving = true
            self.leaveIfDone()
        }
    }

    private func drainInbox() {
        inbox.withLock { $0.drain(into: &arrivals) }
        let now = loop.time
        lastArrival.store(now.milliseconds, ordering: .relaxed)
        let hasLanes = connections.contains { $0.isConnecting || $0.isUsable }
        for exchange in arrivals {
            if isShutDown {
                exchange.fail(.shutdown, mayHaveBeenProcessed: false)
            } else if now < leftToCurlUntil {
                surroundings.withoutHTTP2(exchange)
            } else if !hasLanes, let reason = plan.immediateFailure(deadline: exchange.deadline, now: now) {
                exchange.fail(reason, mayHaveBeenProcessed: false)
            } else if waiting.append(exchange) {
                wake(by: exchange.deadline)
            } else {
                exchange.fail(.overloaded, mayHaveBeenProcessed: false)
            }
        }
        arrivals.removeAll(keepingCapacity: true)
        assign()
        leaveSoonIfDone()
    }

    /// Assigns waiting requests to connections with capacity, and opens another connection for the rest.
    private func assign() {
        let now = loop.time
        if !waiting.requests.isEmpty { spread(now: now) }
        guard !isShutDown, !waiting.requests.isEmpty else { return }
        switch plan.decide(waiting: waiting.requests.count, stats: stats(), now: now) {
        case .none:
            break
        case .connect:
            connect()
        case .connectAt(let time):
            wake(by: time)
        }
    }

    /// Assigns each request to the connection with the fewest requests.
    private func spread(now: Deadline) {
        // A copy: a flush may end a connection.
        let connections = connections
        let isHeldBack = surroundings.gate?.isOpen == false
        while !waiting.requests.isEmpty, let connection = Self.leastLoaded(connections) {
            // With one connection there is no comparison.
            var count = connections.count == 1 ? connection.free : 1
            var isRefused = false
            while count > 0, !isRefused, let exchange = waiting.next() {
                count -= 1
                if exchange.deadline <= now {
                    exchange.fail(.timeout, mayHaveBeenProcessed: false)
                } else if isHeldBack {
                    exchange.fail(.closed, mayHaveBeenProcessed: false)
                } else if !connection.submit(exchange, now: now) {
                    waiting.putBack(exchange)
                    isRefused = true
                }
            }
            // A connection that refuses a request takes no others.
            guard !isRefused || connection.free == 0 else { break }
        }
        // Also flushes connections that are full now.
        for connection in connections { connection.flush() }
    }

    private static func leastLoaded(_ connections: [HTTP2Connection]) -> HTTP2Connection? {
        if connections.count == 1 { return connections[0].free > 0 ? connections[0] : nil }
        var best: HTTP2Connection?
        var load = Int.max
        for connection in connections where connection.free > 0 && connection.inFlight < load {
            best = connection
            load = connection.inFlight
        }
        return best
    }

    private func stats() -> ConnectionPlan.Stats {
        connections.reduce(into: ConnectionPlan.Stats()) { stats, connection in
            if connection.isConnecting { stats.connecting += 1 }
            guard connection.isUsable else { return }
            stats.usable += 1
            if !connection.hasAnswered { stats.hasUnproven = true }
        }
    }

    private func connect() {
        let connection = HTTP2Connection(owner: self, loop: loop, settings: settings)
        connections.append(connection)
        wake(by: loop.time + settings.connectTimeout)
        let bound = NIOLoopBound(connection, eventLoop: loop)
        surroundings.connect(bound, route, settings.connectTimeout, loop)
            .whenFailure { error in
                bound.value.connectFailed((error as? HTTPError)?.reason ?? .unreachable)
            }
    }

    /// Replaces a connection whose peer takes no more requests, before the next request comes.
    private func replaceDrained() {
        let now = loop.time
        guard !isShutDown, !isLeaving, waiting.requests.isEmpty else { return }
        if plan.wantsReplacement(stats: stats(), lastRequest: lastRequest, now: now) { connect() }
    }

    private func leaveSoonIfDone() {
        guard isLeaving else { return }
        // Deferred, because a connection is the current caller.
        loop.execute { self.leaveIfDone() }
    }

    private func leaveIfDone() {
        guard isLeaving, !isShutDown, !isGone, waiting.requests.isEmpty else { return }
        for connection in connections where connection.inFlight == 0 { connection.close(.closed) }
        guard connections.isEmpty, inbox.withLock({ $0.closeIfEmpty() }) else { return }
        isGone = true
        timer?.cancel()
        surroundings.left(self)
    }

    /// Makes `sweep` run at `time` at the latest.
    private func wake(by time: Deadline) {
        guard time < timerAt, !isShutDown else { return }
        timer?.cancel()
        timerAt = time
        timer = loop.scheduleTask(deadline: NIODeadline(time)) { self.sweep() }
    }

    private func sweep() {
        timerAt = .distantFuture
        let now = loop.time
        for exchange in waiting.takeDue(by: now) { exchange.fail(.timeout, mayHaveBeenProcessed: false) }
        let next = connections.reduce(waiting.soonestDeadline) { min($0, $1.check() ?? .distantFuture) }
        if next < .distantFuture { wake(by: max(next, now + .milliseconds(1))) }
        assign()
        leaveSoonIfDone()
    }
}

// MARK: The events of a connection, on its event loop

extension OriginConnections {
    /// It may take requests now; they are flushed after this returns.
    func connectionIsReady(_ connection: HTTP2Connection) {
        if connection.hasAnswered { plan.succeeded() }
        if !connection.isUsable { replaceDrained() }
        assign()
        leaveSoonIfDone()
    }

    /// The server chose another protocol in ALPN (RFC 7301); the connection closes itself.
    func connectionSpeaksNoHTTP2(_ connection: HTTP2Connection) {
        leftToCurlUntil = loop.time + settings.withoutHTTP2
        for exchange in waiting.takeAll() { surroundings.withoutHTTP2(exchange) }
    }

    /// The server has not processed this request.
    func connectionRefused(_ exchange: Exchange) {
        exchange.refusals += 1
        if isShutDown {
            exchange.fail(.shutdown, mayHaveBeenProcessed: false)
        } else if exchange.refusals > settings.resends {
            exchange.fail(.closed, mayHaveBeenProcessed: false)
        } else {
            waiting.putBack(exchange)
            wake(by: exchange.deadline)
        }
    }

    /// The last event of a connection.
    func connectionClosed(_ connection: HTTP2Connection, hasAnswered: Bool, _ reason: HTTPError.Reason) {
        connections.removeAll { $0 === connection }
        let now = loop.time
        if !hasAnswered, now >= leftToCurlUntil {
            plan.failed(reason, now: now, jitter: surroundings.jitter())
            if !connections.contains(where: { $0.isConnecting || $0.isUsable }) {
                for exchange in waiting.takeAll() { exchange.fail(reason, mayHaveBeenProcessed: false) }
            }
        }
        assign()
        leaveSoonIfDone()
    }
}

/// Requests that senders on any thread leave for an origin's event loop. Kept under a lock.
struct OriginInbox {
    enum Arrival {
        /// The caller must wake the loop.
        case first
        case joined
        case closed
    }

    private var arrivals: [Exchange] = []
    private var isWakePending = false
    private var isClosed = false

    mutating func post(_ exchange: Exchange) -> Arrival {
        guard !isClosed else { return .closed }
        arrivals.append(exchange)
        guard !isWakePending else { return .joined }
        isWakePending = true
        return .first
    }

    /// Swaps all arrivals for `empty`, whose storage serves the next ones.
    mutating func drain(into empty: inout [Exchange]) {
        isWakePending = false
        swap(&arrivals, &empty)
    }

    mutating func close() {
        isClosed = true
    }

    /// Returns false if a request has arrived.
    mutating func closeIfEmpty() -> Bool {
        guard arrivals.isEmpty else { return false }
        close()
        return true
    }
}
