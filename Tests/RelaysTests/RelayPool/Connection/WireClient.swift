import HTTPClient
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

@testable import Relays

/// A wire to a test's server, and the messages received on it.
final class WireClient: Sendable {
    enum Received: Equatable {
        case text(String)
        /// A text that arrived after reading was stopped.
        case unwanted(String)
        /// The start of a message over the limit.
        case skipped
        /// One read was through.
        case all
        case ended(ConnectionError?)
    }

    private final class Owner: RelayWireOwner {
        private let continuation: AsyncStream<Received>.Continuation
        private let box: NIOLockedValueBox<Bool>

        init(_ continuation: AsyncStream<Received>.Continuation, wantsMore: NIOLockedValueBox<Bool>) {
            self.continuation = continuation
            self.box = wantsMore
        }

        var wantsMore: Bool { box.withLockedValue { $0 } }

        func received(_ message: ByteBuffer) {
            let text = String(buffer: message)
            continuation.yield(wantsMore ? .text(text) : .unwanted(text))
        }

        func passes(isNew: Bool) {
            if isNew { continuation.yield(.skipped) }
        }

        func receivedAll() -> Int {
            continuation.yield(.all)
            return 0
        }

        func ended(_ failure: ConnectionError?) {
            continuation.yield(.ended(failure))
            continuation.finish()
        }
    }

    private let loop: any EventLoop
    private let wire: NIOLoopBound<RelayWire>
    private let wants: NIOLockedValueBox<Bool>
    private let stream: AsyncStream<Received>

    /// Throws a ``ConnectionError`` when there is no connection.
    init(
        _ url: String,
        caFile: String? = nil,
        limits: ConnectionLimits = ConnectionLimits(),
        guarded: AddressGuard? = nil,
        wantsMore: Bool = true
    ) async throws {
        let url = try #require(RelayURL(url))
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let connector = try RelayConnector(
            caFile: caFile,
            addressGuard: guarded ?? AddressGuard(),
            limits: limits,
            threads: .singleton
        )
        let wants = NIOLockedValueBox(wantsMore)
        let (stream, continuation) = AsyncStream.makeStream(of: Received.self)
        wire = try await loop.flatSubmit {
            connector.connect(to: url, isGuarded: guarded != nil, on: loop).map { wire in
                wire.value.attach(to: Owner(continuation, wantsMore: wants))
                return wire
            }
        }.get()
        self.loop = loop
        self.wants = wants
        self.stream = stream
    }

    /// Received messages, in order; ends with the connection.
    var received: AsyncStream<Received> { stream }

    func send(_ text: String) {
        act {
            $0.write(Array(text.utf8))
            $0.flush()
        }
    }

    func wantMore(_ wantsMore: Bool) {
        wants.withLockedValue { $0 = wantsMore }
        if wantsMore { act { $0.resume() } }
    }

    func close() {
        act { $0.close() }
    }

    private func act(_ body: @escaping @Sendable (RelayWire) -> Void) {
        let wire = wire
        loop.execute { body(wire.value) }
    }
}
