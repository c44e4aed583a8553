import Dispatch

/// A network that cannot be reached, so that every stream ends when it has begun: for dry runs, and where instances are
/// made only to see whether they can be.
package struct NoStreams: StreamConnector {
    private static let queue = DispatchQueue(label: "carillon.no-streams")

    package init() {}

    package func stream(to _: StreamTarget, _ receiver: any StreamReceiver) -> any StreamConnection {
        Stream(receiver)
    }

    private final class Stream: StreamConnection {
        private let receiver: any StreamReceiver

        init(_ receiver: any StreamReceiver) { self.receiver = receiver }

        func start() {
            NoStreams.queue.async { [receiver] in receiver.closed(.unreachable) {} }
        }

        func write(_: [UInt8]) {}
        func startTLS() {}
        func close() {}
        func end(_: StreamFailure) {}
        func setReading(_: Bool) {}
    }
}
