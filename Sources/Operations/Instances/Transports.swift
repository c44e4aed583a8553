import Delivery
import Notifications
import PluginHost
import Registry
import RouterConfiguration

/// The transports of every app that the configuration names, each with its own block.
package struct Transports: Sendable {
    /// A platform of an app that cannot be served.
    package struct Failure: Sendable {
        package let app: String
        package let platform: String
        /// The line of its block in the configuration.
        package let line: Int
        package let reason: String
        /// Whether a plugin that is loaded serves the platform.
        let hasPlugin: Bool
    }

    private var instances: [QueueName: TransportInstance] = [:]
    /// What each was made of.
    private var fingerprints: [QueueName: BlockFingerprint] = [:]
    package private(set) var failures: [Failure] = []

    /// Makes an instance for each block; where `former` has one of the same block and the same files, that one stays,
    /// and with it what it has learned and the tokens that its push service would not see renewed too often.
    package init(
        configuration: Configuration,
        plugins: PluginHost,
        settings: InstanceSettings,
        former: Transports? = nil
    ) {
        for (name, app) in configuration.apps {
            for (platform, block) in app.platforms {
                let queue = QueueName(platform: platform, app: name)
                let fingerprint = BlockFingerprint(of: block.json)
                fingerprints[queue] = fingerprint
                if let instance = former?.instances[queue], former?.fingerprints[queue] == fingerprint {
                    instances[queue] = instance
                    continue
                }
                do {
                    instances[queue] = try plugins.makeTransport(
                        platform: platform,
                        app: name,
                        configuration: block.json,
                        settings: settings
                    )
                } catch {
                    failures.append(
                        Failure(
                            app: name,
                            platform: platform,
                            line: block.line,
                            reason: "\(error)",
                            hasPlugin: !error.isUnknownPlatform
                        )
                    )
                }
            }
        }
        failures.sort { ($0.line, $0.app) < ($1.line, $1.app) }
    }

    /// The instances that serve, by their queues.
    package var all: [QueueName: TransportInstance] { instances }

    subscript(queue: QueueName) -> (any Transport)? {
        instances[queue].map(PluginTransportAdapter.init)
    }

    /// What an instance answers to a request from outside; nil where nothing there takes one.
    func receive(_ request: InboundRequest, for queue: QueueName) async -> InboundAnswer? {
        guard let instance = instances[queue], instance.isReachable else { return nil }
        return await instance.receive(request)
    }

    /// The platforms that are served, sorted.
    package var platforms: [String] { Set(instances.keys.map(\.platform)).sorted() }

    /// Refuses a registration that no transport serves or that its transport finds wrong.
    @Sendable func check(_ address: DeviceAddress) throws {
        guard let instance = instances[QueueName(platform: address.platform, app: address.app)] else {
            throw refusal(ofPlatformIn: address.app)
        }
        do {
            try instance.validate(address)
        } catch {
            throw error.isTemporary ? RegistrationRejection.failed("\(error)") : .invalid("\(error)")
        }
    }

    /// Says nothing of other apps than the one asked for.
    private func refusal(ofPlatformIn app: String) -> RegistrationRejection {
        let platforms = instances.keys.filter { $0.app == app }.map(\.platform).sorted()
        guard platforms.isEmpty else {
            return .unsupported(
                "registration field `platform`: expected one that this app is served on: \(platforms.joined(separator: ", "))"
            )
        }
        return .unsupported(
            app == Configuration.App.defaultName
                ? "registration field `app`: expected the name of an app, for this router has none called \(app)"
                : "registration field `app`: expected an app of this router's, which has none of that name"
        )
    }
}

/// A plugin's instance as the courier knows it.
private struct PluginTransportAdapter: Transport {
    let instance: TransportInstance

    func deliver(_ delivery: Delivery, to address: DeviceAddress, completion: @escaping @Sendable (Outcome) -> Void) {
        instance.deliver(delivery.notification, id: delivery.id, to: address, completion: completion)
    }

    var takesMany: Bool { instance.takesMany }

    func deliver(_ attempts: [DeliveryAttempt]) {
        instance.deliver(
            attempts.map {
                DeliveryOrder($0.delivery.notification, id: $0.delivery.id, to: $0.address, completion: $0.completion)
            }
        )
    }
}
