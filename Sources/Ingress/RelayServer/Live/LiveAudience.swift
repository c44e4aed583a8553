import Logging
import NIOConcurrencyHelpers
import NIOCore
import Nostr

/// All open connections, by event loop: an event takes one hop to each loop, however many connections live there, and events
/// in a row share it.
final class LiveAudience: Sendable {
    private let rooms = NIOLockedValueBox<[ObjectIdentifier: LiveRoom]>([:])
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    /// Adds a connection; on its event loop.
    func join(_ handler: WebSocketHandler, context: ChannelHandlerContext) {
        let loop = context.eventLoop
        let room = rooms.withLockedValue { rooms in
            if let room = rooms[ObjectIdentifier(loop)] { return room }
            let room = LiveRoom(loop: loop)
            rooms[ObjectIdentifier(loop)] = room
            return room
        }
        room.join(handler, context: context)
    }

    /// Takes a connection out again; on its event loop.
    func leave(_ handler: WebSocketHandler, context: ChannelHandlerContext) {
        rooms.withLockedValue { $0[ObjectIdentifier(context.eventLoop)] }?.leave(handler)
    }

    /// Tells everyone of an event; on any thread.
    func tell(_ event: Event) {
        let live = LiveEvent(event)
        for room in rooms.withLockedValue({ Array($0.values) }) where !room.tell(live) {
            logger.warning(
                "Live events are dropped: an event loop does not keep up",
                metadata: ["limit": "\(LiveRoom.limit)"]
            )
        }
    }
}
