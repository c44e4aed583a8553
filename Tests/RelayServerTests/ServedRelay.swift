import BrowserPages
import Listening
import Logging
import NIOPosix
import TimeTestSupport
import Units

@testable import RelayServer

/// A server on a port of the system's, for as long as a test speaks to it.
enum ServedRelay {
    static func run(
        _ backend: RecordingBackend = RecordingBackend(),
        site: StaticSite? = nil,
        limits: RelayServerConfiguration.Limits = RelayServerConfiguration.Limits(),
        counts: LimitCounts = LimitCounts(),
        isTrustedProxy: @escaping @Sendable (String) -> Bool = { _ in false },
        isBlocked: @escaping @Sendable (String) -> Bool = { _ in false },
        now: @escaping @Sendable () -> Timestamp = { 1_700_000_000_000 },
        _ body: (Int, RelayServer) async throws -> Void
    ) async throws {
        var configuration = RelayServerConfiguration()
        configuration.port = 0
        configuration.limits = limits
        configuration.isTrustedProxy = isTrustedProxy
        configuration.isBlocked = isBlocked
        // A busy machine may leave a test waiting for longer than a client may take.
        if limits.handshakeTimeout != .zero { configuration.limits.handshakeTimeout = .minutes(2) }
        let server = RelayServer(
            configuration: configuration,
            information: RelayInformation(
                name: "test",
                description: "a test",
                pubkey: String(repeating: "ab", count: 32),
                version: "1.0",
                limits: configuration.limits
            ),
            site: site,
            backend: backend,
            group: .singletonMultiThreadedEventLoopGroup,
            now: now,
            challenge: { "word" },
            counts: counts,
            logger: Logger(label: "test")
        )
        let listener = try await server.start()
        try await body(listener.port, server)
        try await listener.close()
    }
}
