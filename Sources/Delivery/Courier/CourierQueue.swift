import DequeModule
import HeapModule
import Notifications

/// The deliveries of one platform and app: which are in memory, which is next, what waits for what.
///
/// A device's deliveries go one at a time and in order; one that failed is tried again before those behind it, until it has
/// failed so often that it stands aside. A retry that only waits on disk holds up nobody.
struct CourierQueue: Sendable {
    /// This queue's index among the courier's queues.
    let index: Int
    /// This queue's number in the outbox.
    let number: Int
    let name: QueueName
    let limits: CourierLimits
    let policy: RetryPolicy

    var backlog: Backlog
    var gate: PauseGate
    var service: ServicePause
    /// The last pause that began, for as long as it goes on.
    var pause: QueuePause?
    var hosts: HostLimits
    var endpoints: EndpointBreaks
    var lanes = LaneTable()
    /// Lanes whose first delivery may be attempted, in turn.
    var ready: Deque<Int> = []
    var parked = Heap<Parked>()
    /// Deliveries in `parked`.
    var parkedCount = 0
    /// Deliveries in memory.
    var held = 0
    /// Lanes with an attempt under way.
    var inFlight = 0
    /// Deliveries in memory that have a due time on disk: a page of retries may bring them again.
    var retrying: Set<OutboxKey> = []
    /// Of those, the ones that ended while a page was being read, which may bring them once more.
    var endedWhileReading: [OutboxKey] = []

    init(index: Int, number: Int, name: QueueName, backlog: Backlog, limits: CourierLimits, policy: RetryPolicy) {
        self.index = index
        self.number = number
        self.name = name
        self.backlog = backlog
        self.limits = limits
        self.policy = policy
        gate = PauseGate(firstPause: limits.firstPause, longestPause: limits.longestPause)
        service = ServicePause(length: limits.breaks, longest: policy.cap)
        hosts = HostLimits(
            limit: limits.inFlightPerHost,
            room: limits.window / 4,
            longestWait: policy.cap,
            breaks: limits.breaks,
            doubts: limits.doubts,
            newDeviceLimit: limits.inFlight
        )
        endpoints = EndpointBreaks(limit: limits.standAsideAfter, breaks: limits.doubts)
    }

    /// A delivery that is on disk now, and comes into memory if nothing before it waits on disk and there is room.
    mutating func accept(_ stored: StoredDelivery) {
        guard backlog.accept(stored.key, hasRoom: held < limits.window) else { return }
        held += 1
        enqueue(stored)
    }

    /// Puts a delivery that is counted in `held` behind those of its device.
    mutating func enqueue(_ stored: StoredDelivery) {
        let lane = lanes.lane(of: stored.delivery.device)
        lanes[lane].waiting.append(stored)
        switch lanes[lane].state {
        case .free: makeReady(lane)
        case .parked: parkedCount += 1
        case .ready, .inFlight, .held: break
        }
    }

    mutating func makeReady(_ lane: Int) {
        lanes[lane].state = .ready
        ready.append(lane)
    }

    /// Gives the lane its next turn, or gives it up when nothing waits in it.
    mutating func proceed(_ lane: Int) {
        if lanes[lane].waiting.isEmpty {
            lanes.release(lane)
        } else {
            makeReady(lane)
        }
    }

    /// Begins what may begin: moves what has come due, asks for pages, hands out attempts.
    mutating func advance(now: Int64, into actions: inout CourierActions) {
        wakeParked(now: now)
        moveParkedToDisk(into: &actions)
        while inFlight < allowance(now: now), let lane = ready.popFirst() {
            dropExpired(lane, now: now, into: &actions)
            guard let first = lanes[lane].waiting.first else {
                let caller = answerCall(lane)
                lanes.release(lane)
                callNext(caller)
                continue
            }
            lanes[lane].state = .inFlight
            inFlight += 1
            actions.lookups.append(Ticket(queue: index, lane: lane, stored: first))
        }
        askForPages(into: &actions)
    }

    /// When something happens by itself, in milliseconds since 1970.
    var wakeAt: Int64? {
        guard let until = pausedUntil, !ready.isEmpty else { return parked.min?.place.due }
        return min(until, parked.min?.place.due ?? until)
    }

    /// When attempts are made again, in milliseconds since 1970; nil when the queue is not paused.
    var pausedUntil: Int64? {
        var ends: [Int64] = []
        if case .paused(let until) = gate.state { ends.append(until) }
        if case .paused(let until) = service.state { ends.append(until) }
        return ends.max()
    }

    func status(now: Int64) -> QueueStatus {
        let until = pausedUntil
        return QueueStatus(
            queue: name,
            inFlight: inFlight,
            inMemory: held,
            waitingForRetry: parkedCount,
            pausedUntil: until,
            pauseCause: until == nil ? nil : pause?.cause,
            pauseReason: until == nil ? nil : pause?.reason,
            pausedHosts: hosts.paused(now: now)
        )
    }

    /// How many attempts may be under way now.
    private mutating func allowance(now: Int64) -> Int {
        let allowed = gate.allowance(of: limits.inFlight, now: now)
        return min(allowed, service.allowance(of: limits.inFlight, now: now))
    }

    private mutating func dropExpired(_ lane: Int, now: Int64, into actions: inout CourierActions) {
        while let first = lanes[lane].waiting.first, policy.deadline(of: first.delivery) <= now {
            end(lane, .expired, reason: "expired", into: &actions)
        }
    }
}
