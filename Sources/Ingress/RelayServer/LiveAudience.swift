import Logging
import NIOConcurrencyHelpers
import NIOCore
import Nostr

/// All open connections, by event loop: an event takes one hop to each loop, however many connections live there, and
/// events in a row share it.
final class LiveAudience: Sendable {
    private let loops = NIOLockedValueBox<[ObjectIdentifier: LoopAudience]>([:])
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    /// Adds a connection; on its event loop.
    func join(_ handler: WebSocketHandler, context: ChannelHandlerContext) {
        let loop = context.eventLoop
        let audience = loops.withLockedValue { loops in
            if let audience = loops[ObjectIdentifier(loop)] { return audience }
            let audience = LoopAudience(loop: loop)
            loops[ObjectIdentifier(loop)] = audience
            return audience
        }
        audience.join(handler, context: context)
    }

    /// Takes a connection out again; on its event loop.
    func leave(_ handler: WebSocketHandler, context: ChannelHandlerContext) {
        loops.withLockedValue { $0[ObjectIdentifier(context.eventLoop)] }?.leave(handler)
    }

    /// Sends an event to every connection that wants it; on any thread.
    func send(_ event: Event) {
        let live = LiveEvent(event)
        for loop in loops.withLockedValue({ Array($0.values) }) where !loop.send(live) {
            logger.warning(
                "Live events are dropped: an event loop does not keep up",
                metadata: ["limit": "\(LoopAudience.limit)"]
            )
        }
    }
}

/// The connections of one event loop.
private final class LoopAudience: Sendable {
    /// How many events may wait for the loop.
    static let limit = 4_096

    private let loop: any EventLoop
    private let members: NIOLoopBoundBox<[ObjectIdentifier: (WebSocketHandler, ChannelHandlerContext)]>
    private let waiting = NIOLockedValueBox<[LiveEvent]>([])

    /// To be made on `loop`.
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

    /// Hands an event to the loop; on any thread. Returns false when the queue is full.
    func send(_ event: LiveEvent) -> Bool {
        let before = waiting.withLockedValue { waiting in
            if waiting.count < Self.limit { waiting.append(event) }
            return waiting.count
        }
        if before == 1 { loop.execute { self.deliver() } }
        return before < Self.limit
    }

    private func deliver() {
        let events = waiting.withLockedValue { waiting in
            defer { waiting = [] }
            return waiting
        }
        for (handler, context) in members.value.values { handler.send(events, context: context) }
    }
}

/// A new event, serialized once for all connections that want it.
struct LiveEvent: Sendable {
    let event: Event
    let json: [UInt8]

    init(_ event: Event) {
        self.event = event
        json = event.json
    }
}
