import NIOConcurrencyHelpers
import NIOCore
import Synchronization

/// All connections of one route and what waits for them.
///
/// `@unchecked Sendable`: everything but the locked inbox and `lastRequest` is touched on `loop` alone.
final class OriginLanes: @unchecked Sendable {
    /// What the origins of a pool have in common.
    struct Surroundings: Sendable {
        /// Makes connections.
        var connector: any LaneConnecting
        /// Limits and times.
        var settings: LaneSettings
        /// Chance between 0 and 1.
        var jitter: @Sendable () -> Double
        /// Takes requests when an origin speaks no HTTP/2.
        var withoutHTTP2: @Sendable (Exchange) -> Void
        /// Is told of the end of one that was to leave, on its loop.
        var left: @Sendable (OriginLanes) -> Void = { _ in }
    }

    let route: LaneRoute
    let loop: any EventLoop
    let settings: LaneSettings
    private let surroundings: Surroundings
    private let inbox = NIOLockedValueBox(LaneInbox())
    private let lastArrival: Synchronization.Atomic<Int64>

    private var arrivals: [Exchange] = []
    private var waiting: WaitingRequests
    private var lanes: [Lane] = []
    private var plan: ConnectionPlan
    private var leftToCurlUntil: Int64 = .min
    private var timer: Scheduled<Void>?
    private var timerAt: Int64 = .max
    private var isShutDown = false
    private var isLeaving: Bool
    private var isGone = false

    /// - Parameters:
    ///   - route: Where to.
    ///   - loop: Carries everything.
    ///   - surroundings: What it shares with others.
    init(route: LaneRoute, loop: any EventLoop, surroundings: Surroundings) {
        self.route = route
        self.loop = loop
        self.surroundings = surroundings
        settings = surroundings.settings
        lastArrival = Synchronization.Atomic(loop.milliseconds)
        isLeaving = route.scope?.isRetired ?? false
        waiting = WaitingRequests(limit: settings.waitingPerOrigin)
        plan = ConnectionPlan(settings: settings)
    }

    /// When the last request came, on the loop's clock.
    var lastRequest: Int64 { lastArrival.load(ordering: .relaxed) }

    /// Takes `exchange` from any thread; false after its end.
    func post(_ exchange: Exchange) -> Bool {
        switch inbox.withLockedValue({ $0.post(exchange) }) {
        case .first:
            loop.execute { self.drainInbox() }
            return true
        case .joined:
            return true
        case .closed:
            return false
        }
    }

    /// Fails whatever is outstanding and closes every connection.
    func shutDown() -> EventLoopFuture<Void> {
        inbox.withLockedValue { $0.close() }
        return loop.submit {
            self.isShutDown = true
            self.drainInbox()
            for exchange in self.waiting.takeAll() { exchange.fail(.shutdown, mayHaveBeenProcessed: false) }
            for lane in self.lanes { lane.close(.shutdown) }
            self.timer?.cancel()
        }
    }

    /// What is open and what waits.
    func count() -> EventLoopFuture<LanesSnapshot.OriginCount> {
        loop.submit {
            let connecting = self.lanes.count { $0.isConnecting }
            return LanesSnapshot.OriginCount(
                connections: self.lanes.count - connecting,
                connecting: connecting,
                streams: self.lanes.reduce(0) { $0 + $1.inFlight },
                waiting: self.waiting.count
            )
        }
    }

    /// Has it do what it has, then close its connections and end.
    func leave() {
        loop.execute {
            self.isLeaving = true
            self.leaveIfDone()
        }
    }

    private func drainInbox() {
        inbox.withLockedValue { $0.drain(into: &arrivals) }
        let now = loop.milliseconds
        lastArrival.store(now, ordering: .relaxed)
        let hasLanes = lanes.contains { $0.isConnecting || $0.isUsable }
        for exchange in arrivals {
            if isShutDown {
                exchange.fail(.shutdown, mayHaveBeenProcessed: false)
            } else if now < leftToCurlUntil {
                surroundings.withoutHTTP2(exchange)
            } else if !hasLanes, let reason = plan.hopeless(deadline: exchange.deadline, now: now) {
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

    /// Gives lanes what they have room for, and sees to another lane when there is more.
    private func assign() {
        let now = loop.milliseconds
        if !waiting.isEmpty { spread(now: now) }
        guard !isShutDown, !waiting.isEmpty else { return }
        switch plan.decide(waiting: waiting.count, census: census(), now: now) {
        case .none:
            break
        case .connect:
            connect()
        case .connectAt(let time):
            wake(by: time)
        }
    }

    /// Each request goes to the lane that has least to do.
    private func spread(now: Int64) {
        // As they are now: a flush may be the end of one.
        let lanes = lanes
        while !waiting.isEmpty, let lane = Self.leastLoaded(lanes), let exchange = waiting.next() {
            if exchange.deadline <= now {
                exchange.fail(.timeout, mayHaveBeenProcessed: false)
            } else if !lane.submit(exchange, now: now) {
                waiting.putBack(exchange)
                // A lane that says so has no room from then on.
                guard lane.free == 0 else { break }
            }
        }
        // Also those that take no more since what they took last.
        for lane in lanes { lane.flush() }
    }

    private static func leastLoaded(_ lanes: [Lane]) -> Lane? {
        if lanes.count == 1 { return lanes[0].free > 0 ? lanes[0] : nil }
        var best: Lane?
        var load = Int.max
        for lane in lanes where lane.free > 0 && lane.inFlight < load {
            best = lane
            load = lane.inFlight
        }
        return best
    }

    private func census() -> ConnectionPlan.Census {
        lanes.reduce(into: ConnectionPlan.Census()) { census, lane in
            if lane.isConnecting { census.connecting += 1 }
            guard lane.isUsable else { return }
            census.usable += 1
            if !lane.hasAnswered { census.hasUnproven = true }
        }
    }

    private func connect() {
        let lane = Lane(owner: self, loop: loop, settings: settings)
        lanes.append(lane)
        wake(by: loop.milliseconds + settings.connectTimeout)
        let bound = NIOLoopBound(lane, eventLoop: loop)
        surroundings.connector.connect(bound, along: route, timeout: settings.connectTimeout, on: loop)
            .whenFailure { error in
                bound.value.connectFailed((error as? HTTPFailure)?.reason ?? .unreachable)
            }
    }

    /// The peer takes no more on its connection: whoever comes next shall find another one.
    private func replaceDrained() {
        let now = loop.milliseconds
        guard !isShutDown, !isLeaving, waiting.isEmpty else { return }
        if plan.wantsReplacement(census: census(), lastRequest: lastRequest, now: now) { connect() }
    }

    private func leaveSoonIfDone() {
        guard isLeaving else { return }
        // Later: lanes are in the middle of what brought us here.
        loop.execute { self.leaveIfDone() }
    }

    private func leaveIfDone() {
        guard isLeaving, !isShutDown, !isGone, waiting.isEmpty else { return }
        for lane in lanes where lane.inFlight == 0 { lane.close(.closed) }
        guard lanes.isEmpty, inbox.withLockedValue({ $0.closeIfEmpty() }) else { return }
        isGone = true
        timer?.cancel()
        surroundings.left(self)
    }

    /// Has `sweep` run at `time` at the latest.
    private func wake(by time: Int64) {
        guard time < timerAt, !isShutDown else { return }
        timer?.cancel()
        timerAt = time
        let deadline = NIODeadline.uptimeNanoseconds(UInt64(max(time, 0)) * 1_000_000)
        timer = loop.scheduleTask(deadline: deadline) { self.sweep() }
    }

    private func sweep() {
        timerAt = .max
        let now = loop.milliseconds
        for exchange in waiting.takeDue(by: now) { exchange.fail(.timeout, mayHaveBeenProcessed: false) }
        let next = lanes.reduce(waiting.soonestDeadline) { min($0, $1.check() ?? .max) }
        if next < .max { wake(by: max(next, now + 1)) }
        assign()
        leaveSoonIfDone()
    }
}

extension OriginLanes: LaneOwner {
    func laneHasRoom(_ lane: Lane) {
        if lane.hasAnswered { plan.succeeded() }
        if !lane.isUsable { replaceDrained() }
        assign()
        leaveSoonIfDone()
    }

    func laneSpeaksNoHTTP2(_ lane: Lane) {
        leftToCurlUntil = loop.milliseconds + settings.withoutHTTP2
        for exchange in waiting.takeAll() { surroundings.withoutHTTP2(exchange) }
    }

    func laneRefused(_ exchange: Exchange) {
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

    func laneClosed(_ lane: Lane, hasAnswered: Bool, _ reason: HTTPFailure.Reason) {
        lanes.removeAll { $0 === lane }
        let now = loop.milliseconds
        if !hasAnswered, now >= leftToCurlUntil {
            plan.failed(reason, now: now, jitter: surroundings.jitter())
            if !lanes.contains(where: { $0.isConnecting || $0.isUsable }) {
                for exchange in waiting.takeAll() { exchange.fail(reason, mayHaveBeenProcessed: false) }
            }
        }
        assign()
        leaveSoonIfDone()
    }
}
