import Delivery
import Listening
import Logging
import NIOCore
import Registry
import RouterConfiguration
import WebIngress

extension Router {
    /// The sealed ingress, where the configuration has one. It runs on one event loop: swift-nio's generic decoders do not stand
    /// being needed on several for the first time.
    static func sealedIngress(
        _ configuration: Configuration,
        registry: Registry,
        courier: Courier,
        trials: TokenTrials,
        loop: any EventLoop,
        now: @escaping @Sendable () -> Int64,
        counts: DoorCounts,
        logger: Logger
    ) -> WebIngress? {
        guard let settings = configuration.sealedIngress else { return nil }
        let backend = SealedIngressBackend(
            app: settings.app,
            limits: IngressDeviceLimits(devices: settings.devices),
            registry: registry,
            courier: courier,
            trials: trials,
            now: now,
            logger: logger
        )
        return WebIngress(
            configuration: settings.web,
            backend: backend,
            loop: loop,
            now: now,
            counts: counts,
            logger: logger
        )
    }

    /// Where the sealed ingress listens; nil before it does, and where there is none.
    package var sealedIngressPort: Int? { ingressPort.value }

    func startIngress() async throws {
        guard let ingress, let settings = configuration.sealedIngress else { return }
        do {
            let port = try await ingress.start()
            ingressPort.set(port)
            logger.info("Taking push messages", metadata: ["address": "\(settings.web.host):\(port)"])
        } catch {
            throw RouterError.cannotListen(
                configuration.isOfEnvironment ? "PORT" : "sealed_ingress.listen",
                host: settings.web.host,
                port: settings.web.port,
                error
            )
        }
    }
}
