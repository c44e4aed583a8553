import Cipher
import Core
import HTTPClient
import Logging
import NIOPosix
import Nostr
import Testing

@testable import Relays

/// A pool on loopback, without limits on addresses, and the calls to its delegate.
struct TestPool {
    let pool: RelayPool
    let delegate: RecordingDelegate
    let http: StubHTTP
    let identity: KeyPair

    init(
        delegate: RecordingDelegate = RecordingDelegate(),
        http: StubHTTP = StubHTTP(),
        prefilter: ScreenedAuthors? = nil,
        _ change: (inout RelayPool.Configuration) -> Void = { _ in }
    ) throws {
        var configuration = RelayPool.Configuration()
        configuration.allowPrivate = ["127.0.0.0/8"]
        configuration.limits.idle = .milliseconds(1)
        configuration.limits.publishing = .seconds(50)
        configuration.pauses.first = .milliseconds(1)
        change(&configuration)
        identity = try KeyPair(random: SecureRandom.bytes)
        self.delegate = delegate
        self.http = http
        delegate.screen(prefilter)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        pool = try RelayPool(
            configuration: configuration,
            identity: identity,
            group: .singletonMultiThreadedEventLoopGroup,
            http: http,
            delegate: delegate,
            behavior: RelayViolationTable(operators: configuration.operators, now: Timestamp.now, logger: logger),
            now: Timestamp.now,
            logger: logger
        )
    }

    /// Watches a key at `relay`, for a user or for the operator. Default: a new key.
    @discardableResult
    func watch(
        _ relay: RelayURL,
        _ key: PublicKey? = nil,
        isOperators: Bool = false,
        isEstablished: Bool = true
    ) throws -> PublicKey {
        let key = try key ?? KeyPair(random: SecureRandom.bytes).publicKey
        let watched = Watched(
            key: key,
            interest: [.addressed],
            since: Timestamp.now().seconds - 600,
            isEstablished: isEstablished
        )
        pool.update(relay, [.put(watched)], isOperators: isOperators)
        return key
    }

    /// An event that names `key`, of this moment.
    func event(naming key: PublicKey, _ content: String = "") throws -> Event {
        try Event.signed(
            kind: .textNote,
            createdAt: Timestamp.now().seconds,
            tags: [["p", key.hex]],
            content: content,
            by: KeyPair(random: SecureRandom.bytes)
        )
    }

    func publish(_ event: Event, to relays: [RelayURL]) async -> [RelayURL: PublishResult] {
        await withCheckedContinuation { continuation in
            pool.publish(event, to: relays) { continuation.resume(returning: $0) }
        }
    }

    /// Returns whether any relay answered.
    @discardableResult
    func fetch(_ filters: [Filter], from relays: [RelayURL] = [], within span: Duration = .seconds(50)) async -> Bool {
        await withCheckedContinuation { continuation in
            pool.fetch(filters, from: relays, within: span) { continuation.resume(returning: $0) }
        }
    }

    /// Returns once the status of `relay` meets `condition`.
    func wait(for relay: RelayURL, until condition: (RelayStatus?) -> Bool) async {
        while !condition(pool.status.first { $0.url == relay }), !Task.isCancelled { await Task.yield() }
    }

    /// Returns once exactly these keys are established.
    func wait(untilEstablished keys: [PublicKey]) async {
        while delegate.established != keys, !Task.isCancelled { await Task.yield() }
    }
}
