import NIOConcurrencyHelpers
import NIOCore

/// All connections to one origin and what waits for them.
///
/// `@unchecked Sendable`: everything but the locked inbox is touched on `loop` alone.
final class OriginLanes: @unchecked Sendable {
    private let origin: Origin
    private let isGuarded: Bool
    private let loop: any EventLoop
    private let connector: any LaneConnecting
    private let settings: LaneSettings
    private let jitter: @Sendable () -> Double
    private let withoutHTTP2: @Sendable (Exchange) -> Void
    private let inbox = NIOLockedValueBox(LaneInbox())

    private var arrivals: [Exchange] = []
    private var waiting: WaitingRequests
    private var lanes: [Lane] = []
    private var plan: ConnectionPlan
    private var leftToCurlUntil: Int64 = .min
    private var timer: Scheduled<Void>?
    private var timerAt: Int64 = .max
    private var isShutDown = false

    /// - Parameters:
    ///   - origin: Where to.
    ///   - isGuarded: Whether addresses are checked.
    ///   - loop: Carries everything.
    ///   - connector: Makes connections.
    ///   - settings: Limits and times.
    ///   - jitter: Chance between 0 and 1.
    ///   - withoutHTTP2: Takes requests when the origin speaks no HTTP/2.
    init(
        origin: Origin,
        isGuarded: Bool,
        loop: any EventLoop,
        connector: any LaneConnecting,
        settings: LaneSettings,
        jitter: @escaping @Sendable () -> Double,
        withoutHTTP2: @escaping @Sendable (Exchange) -> Void
    ) {
        self.origin = origin
        self.isGuarded = isGuarded
        self.loop = loop
        self.connector = connector
        self.settings = settings
        self.jitter = jitter
        self.withoutHTTP2 = withoutHTTP2
        waiting = WaitingRequests(limit: settings.waitingPerOrigin)
        plan = ConnectionPlan(settings: settings)
    }

    /// Takes `exchange` from any thread; false after a shutdown.
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

    private func drainInbox() {
        inbox.withLockedValue { $0.drain(into: &arrivals) }
        let now = loop.milliseconds
        let hasLanes = lanes.contains { $0.isConnecting || $0.isUsable }
        for exchange in arrivals {
            if isShutDown {
                exchange.fail(.shutdown, mayHaveBeenProcessed: false)
            } else if now < leftToCurlUntil {
                withoutHTTP2(exchange)
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
    }

    /// Gives lanes what they have room for, and sees to another lane when there is more.
    private func assign() {
        let now = loop.milliseconds
        for lane in lanes where !waiting.isEmpty && lane.free > 0 {
            while lane.free > 0, let exchange = waiting.next() {
                if exchange.deadline <= now {
                    exchange.fail(.timeout, mayHaveBeenProcessed: false)
                } else if !lane.submit(exchange, now: now) {
                    waiting.putBack(exchange)
                    break
                }
            }
            lane.flush()
        }
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
        connector.connect(bound, to: origin, isGuarded: isGuarded, timeout: settings.connectTimeout, on: loop)
            .whenFailure { error in
                bound.value.connectFailed((error as? HTTPFailure)?.reason ?? .unreachable)
            }
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
    }
}

extension OriginLanes: LaneOwner {
    func laneHasRoom(_ lane: Lane) {
        if lane.hasAnswered { plan.succeeded() }
        assign()
    }

    func laneSpeaksNoHTTP2(_ lane: Lane) {
        leftToCurlUntil = loop.milliseconds + settings.withoutHTTP2
        for exchange in waiting.takeAll() { withoutHTTP2(exchange) }
    }

    func laneRefused(_ exchange: Exchange) {
        exchange.refusals += 1
        if isShutDown {
            exchange.fail(.shutdown, mayHaveBeenProcessed: false)
        } else if exchange.refusals > settings.resends {
            exchange.fail(.closed, mayHaveBeenProcessed: false)
        } else {
            waiting.putBack(exchange)
        }
    }

    func laneClosed(_ lane: Lane, hasAnswered: Bool, _ reason: HTTPFailure.Reason) {
        lanes.removeAll { $0 === lane }
        let now = loop.milliseconds
        if !hasAnswered, now >= leftToCurlUntil {
            plan.failed(reason, now: now, jitter: jitter())
            if !lanes.contains(where: { $0.isConnecting || $0.isUsable }) {
                for exchange in waiting.takeAll() { exchange.fail(reason, mayHaveBeenProcessed: false) }
            }
        }
        assign()
    }
}
