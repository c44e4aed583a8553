import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOExtras
import NIOHTTP1

/// Connects to origins through a proxy by CONNECT (RFC 9110, section 9.3.6).
package struct ProxyTunnel: Sendable {
    package let proxy: Proxy
    private let log: Logger
    private let refusals = NIOLockedValueBox<UInt64>(0)

    package init(proxy: Proxy, log: Logger) {
        self.proxy = proxy
        self.log = log
        Self.instantiateDecoder()
    }

    /// Swift's runtime (6.3.1) crashes now and then when several event loops need this generic type for the first time
    /// at the same moment. So one thread uses it before.
    private static func instantiateDecoder() {
        withExtendedLifetime(ByteToMessageHandler(HTTPResponseDecoder())) {}
    }

    /// Asks for `origin` on a fresh connection to the proxy; then its pipeline leads to the origin, and what is in it
    /// now receives what came with the proxy's answer. The channel is closed when the proxy refuses or is silent until
    /// `deadline`.
    package func dig(through channel: any Channel, to origin: Origin, deadline: NIODeadline) -> EventLoopFuture<Void> {
        let dug = channel.eventLoop.makePromise(of: Void.self)
        // A tunnel's target always has a port.
        let host = if case .v6 = origin.address { "[\(origin.host)]" } else { origin.host }
        var headers: HTTPHeaders = ["host": "\(host):\(origin.port)"]
        if let authorization = proxy.authorization { headers.add(name: "proxy-authorization", value: authorization) }
        let head = AnswerHead()
        let encoder = HTTPRequestEncoder()
        let decoder = ByteToMessageHandler(HTTPResponseDecoder())
        do {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandlers([head, encoder, decoder], position: .first)
            // After those: it asks as soon as it is there.
            try pipeline.addHandlers(
                [
                    NIOHTTP1ProxyConnectHandler(
                        targetHost: host,
                        targetPort: Int(origin.port),
                        headers: headers,
                        deadline: deadline,
                        promise: dug
                    ),
                    // Stays in the pipeline, where it does no harm.
                    NIOCloseOnErrorHandler(),
                ],
                position: .after(decoder)
            )
        } catch {
            dug.fail(error)
        }
        let codec = NIOLoopBound((head: head, encoder: encoder, decoder: decoder), eventLoop: channel.eventLoop)
        return dug.futureResult
            .flatMap {
                let pipeline = channel.pipeline.syncOperations
                return pipeline.removeHandler(codec.value.encoder)
                    .and(pipeline.removeHandler(codec.value.decoder))
                    .flatMap { _ in channel.pipeline.syncOperations.removeHandler(codec.value.head) }
            }
            .flatMapErrorThrowing { error in
                channel.close(promise: nil)
                note(error)
                throw HTTPFailure(.unreachable, mayHaveBeenProcessed: false)
            }
    }

    /// Logs the first, second, fourth, eighth … time.
    private func note(_ error: any Error) {
        let count = refusals.withLockedValue { count in
            count += 1
            return count
        }
        guard count.nonzeroBitCount == 1 else { return }
        let wantsOthers = (error as? NIOHTTP1ProxyConnectHandler.Error) == .proxyAuthenticationRequired()
        log.warning(
            wantsOthers ? "the proxy wants other credentials" : "the proxy makes no connection",
            metadata: ["times": "\(count)"]
        )
    }
}
