import NIOConcurrencyHelpers
import NIOCore

/// The connections of one event loop.
final class LiveRoom: Sendable {
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

    /// Hands an event to the loop; on any thread. Returns false for the first of those that find no room.
    func tell(_ event: LiveEvent) -> Bool {
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
        for (handler, context) in members.value.values { handler.tell(events, context: context) }
    }
}
