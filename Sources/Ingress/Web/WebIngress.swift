import HTTPListening
import HummingbirdCore
import Listening
import Logging
import NIOCore

/// Takes push messages of any Web Push sender for devices that only Apple's service reaches, and hands them on as they are (seed
/// 001): a drop-in replacement of metatext-apns.
package final class WebIngress: Sendable {
    /// What senders can meet here.
    package static let clientLimits: [ClientLimit] = [.connections, .requests, .bytes, .device, .work]

    private let server: GuardedHTTPServer

    /// - Parameters:
    ///   - configuration: Where to listen and what a client may do.
    ///   - backend: Where messages go.
    ///   - loop: The event loop to run on; stays the caller's.
    ///   - now: Milliseconds since 1970.
    ///   - counts: Where connections and refusals are counted.
    ///   - logger: Where connections are logged, without addresses.
    package init(
        configuration: WebIngressConfiguration,
        backend: any IngressBackend,
        loop: any EventLoop,
        now: @escaping @Sendable () -> Int64,
        counts: DoorCounts = DoorCounts(),
        logger: Logger
    ) {
        let handler = PushHandler(
            configuration: configuration,
            payload: PushPayload(locKey: configuration.locKey),
            limits: PushLimits(configuration.limits, counts: counts),
            queue: PushQueue(backend: backend, capacity: configuration.limits.waiting),
            counts: counts,
            now: now
        )
        server = GuardedHTTPServer(
            terms: configuration.terms,
            loop: loop,
            now: now,
            counts: counts,
            logger: logger
        ) { request, writer, channel in
            let answer = try await handler.answer(request, on: channel)
            try await writer.writeResponse(answer.head)
        }
    }

    /// Starts listening, and returns the port. Throws a `ListenError` when the address cannot be listened on.
    package func start() async throws -> Int { try await server.start() }

    /// Stops listening at once, lets requests under way end for `patience` milliseconds, and then ends what is left.
    package func stop(within patience: Int64) async { await server.stop(within: patience) }
}

extension WebIngressConfiguration {
    fileprivate var terms: HTTPListeningTerms {
        var terms = HTTPListeningTerms(
            host: host,
            port: port,
            connections: limits.connections,
            connectionsPerAddress: limits.connectionsPerAddress,
            headerBytes: limits.headerBytes,
            idleSeconds: limits.idleSeconds,
            refusalLine: "Refusing push senders: too many connections"
        )
        terms.isTrustedProxy = isTrustedProxy
        return terms
    }
}
