import Logging
import NIOCore
import Nostr
import Synchronization

/// All open connections, by event loop. An event takes one hop to each loop regardless of the number of connections,
/// and consecutive events share it.
final class LiveAudience: Sendable {
    private let loops = Mutex<[ObjectIdentifier: LoopAudience]>([:])
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    /// Adds a connection. Call it on the connection's event loop.
    func join(_ handler: WebSocketHandler, context: ChannelHandlerContext) {
        let loop = context.eventLoop
        let audience = loops.withLock { loops in
            if let audience = loops[ObjectIdentifier(loop)] { return audience }
            let audience = LoopAudience(loop: loop)
            loops[ObjectIdentifier(loop)] = audience
            return audience
        }
        audience.join(handler, context: context)
    }

    /// Removes a connection. Call it on the connection's event loop.
    func leave(_ handler: WebSocketHandler, context: ChannelHandlerContext) {
        loops.withLock { $0[ObjectIdentifier(context.eventLoop)] }?.leave(handler)
    }

    /// Sends an event to every connection that subscribes to it. Callable from any thread.
    func send(_ event: Event) {
        let live = LiveEvent(event)
        for loop in loops.withLock({ Array($0.values) }) where !loop.send(live) {
            logger.warning(
                "Dropped live events: an event loop is overloaded",
                metadata: ["limit": "\(LoopAudience.limit)"]
            )
        }
    }
}

/// The connections of one event loop.
private final class LoopAudience: Sendable {
    /// The maximum number of events that wait for the loop.
    static let limit = 4_096

    private let loop: any EventLoop
    private let members: NIOLoopBoundBox<[ObjectIdentifier: (WebSocketHandler, ChannelHandlerContext)]>
    private let waiting = Mutex<[LiveEvent]>([])

    /// Call this on `loop`.
    init(loop: any EventLoop) {
        self.loop = loop
        members = NIOLoopBoundBox([:], eventLoop: loop)
    }

    func join(_ handler: WebSocketHandler, context: ChannelHandlerContext) {
        members.value[ObjectIdentifier(handler)] = (handler, context)
    }

    func leave(_ handler: WebSocketHandler) {
        members.value[ObjectIdentifier(handler)] = nil
    }

    /// Queues an event for the loop. Callable from any thread. Returns false if the queue is full.
    func send(_ event: LiveEvent) -> Bool {
        let before = waiting.withLock { waiting in
            if waiting.count < Self.limit { waiting.append(event) }
            return waiting.count
        }
        if before == 1 { loop.execute { self.deliver() } }
        return before < Self.limit
    }

    private func deliver() {
        let events = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for (handler, context) in members.value.values { handler.send(events, context: context) }
    }
}

/// A new event, serialized once for all connections.
struct LiveEvent: Sendable {
    let event: Event
    let json: [UInt8]

    init(_ event: Event) {
        self.event = event
        json = event.json
    }
}

/// The subscriptions of one connection that new events can match. Others are dropped, because many clients send every
/// relay the same subscriptions.
struct LiveSubscriptions {
    private var subscriptions: [(id: SubscriptionID, filters: [Filter], values: Int)] = []
    private var values = 0

    /// Adds a subscription, which must not be open. Returns false, and adds nothing, if all filters together would have
    /// more than `limit` values.
    mutating func open(_ id: SubscriptionID, _ filters: [Filter], limit: Int) -> Bool {
        let filters = filters.filter(Self.canMatch)
        let count = filters.reduce(0) { $0 + Self.values(in: $1) }
        guard values + count <= limit else { return false }
        guard !filters.isEmpty else { return true }
        values += count
        subscriptions.append((id, filters, count))
        return true
    }

    /// Forgets a subscription, if it is open.
    mutating func close(_ id: SubscriptionID) {
        guard let index = subscriptions.firstIndex(where: { $0.id == id }) else { return }
        values -= subscriptions.remove(at: index).values
    }

    /// Returns the subscriptions that `event` matches, in the order in which they were opened.
    func wanting(_ event: Event) -> [SubscriptionID] {
        subscriptions.compactMap { subscription in
            subscription.filters.contains { Self.wants($0, event) } ? subscription.id : nil
        }
    }

    private static func wants(_ filter: Filter, _ event: Event) -> Bool {
        switch event.kind {
        case .remoteSigning: filter.tags["p"] != nil && filter.matches(event)
        case .notificationRelay: filter.matches(event)
        default: false
        }
    }

    private static func canMatch(_ filter: Filter) -> Bool {
        filter.wants(.notificationRelay) || filter.wants(.remoteSigning) && filter.tags["p"]?.isEmpty == false
    }

    private static func values(in filter: Filter) -> Int {
        let sets = [filter.ids?.count, filter.authors?.count, filter.kinds?.count].compactMap { $0 }
        return 1 + sets.reduce(0, +) + filter.tags.values.reduce(0) { $0 + $1.count }
    }
}

extension Filter {
    fileprivate func wants(_ kind: Kind) -> Bool {
        kinds?.contains(kind) ?? true
    }
}
