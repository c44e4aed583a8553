import Cipher
import Delivery
import HTTPLanes
import Listening
import Logging
import NIOCore
import Nostr
import Notifications
import Operations
import Pipeline
import Registry
import RelayServer
import RouterConfiguration

extension Router {
    static func courier(
        _ outbox: Outbox,
        registry: Registry,
        transports: TransportsInForce,
        observer: any DeliveryObserver,
        now: @escaping @Sendable () -> Int64,
        logger: Logger
    ) throws -> Courier {
        try Courier(
            CourierEnvironment(
                store: outbox,
                directory: RegisteredDevices(registry: registry),
                observer: observer,
                now: now,
                alarm: DispatchAlarm(now: now),
                host: { URLParts($0.token)?.origin.host ?? ($0.isProven ? nil : CourierEnvironment.newDevices) },
                transport: { transports[$0] }
            ),
            log: logger
        )
    }

    /// The NIP-11 document; without `terms` as long as transports have not said theirs.
    static func information(
        _ configuration: Configuration,
        identity: KeyPair,
        _ terms: PushTerms? = nil
    ) -> RelayInformation {
        var information = RelayInformation(
            name: configuration.relay.name,
            description: configuration.relay.description,
            pubkey: identity.publicKey.hex,
            contact: configuration.relay.contact,
            version: Version.current,
            limits: configuration.relay.limits
        )
        information.termsOfService = configuration.relay.termsOfService
        information.createdAtUpperLimit = PipelineSettings.secondsAhead
        information.push = terms
        return information
    }

    static func relayServer(
        _ configuration: Configuration,
        identity: KeyPair,
        backend: SocketBackend,
        group: any EventLoopGroup,
        now: @escaping @Sendable () -> Int64,
        counts: DoorCounts,
        logger: Logger
    ) -> RelayServer {
        var relay = RelayServerConfiguration()
        relay.host = configuration.relay.host
        relay.port = configuration.relay.port
        relay.url = configuration.relay.url
        relay.limits = configuration.relay.limits
        relay.isTrustedProxy = configuration.relay.trustedProxies.contains
        return RelayServer(
            configuration: relay,
            information: information(configuration, identity: identity),
            backend: backend,
            group: group,
            now: now,
            challenge: { Hex.encode(SecureRandom.bytes(16)) },
            counts: counts,
            logger: logger
        )
    }
}
