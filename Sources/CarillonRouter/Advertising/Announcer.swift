import Logging
import Nostr
import Operations
import Registry
import RelayServer
import RouterConfiguration

/// Tells clients what they can have here: by the relay's documents and by the advertisement.
struct Announcer: Sendable {
    let settings: ActiveSettings
    let transports: ActiveTransports
    let sockets: Sockets
    let relays: Relays
    let registry: Registry
    let logger: Logger

    /// Where the relay socket listens; nil before it does.
    var port: Int? { sockets.port }

    /// Does nothing where nothing changed since the last time, and before the relay socket listens.
    func announce() {
        guard let port else { return }
        let configuration = settings.configuration
        let advertising = relays.advertising
        if advertising.first?.event == nil, configuration.relay.url.isEmpty, !configuration.relays.publish.isEmpty {
            logger.warning("relay.url is not set, so the advertisement leads nobody here from another machine")
        }
        let terms = PushTerms(
            platforms: transports.current.platforms,
            limits: configuration.registrationLimits,
            apps: transports.statuses.clients
        )
        do {
            let advertisement = try Advertisement(configuration: configuration, port: port, terms)
            let key = registry.keys.names.current.key
            try sockets.server.inform(
                configuration.relayInformation(of: key, terms),
                discovery: advertisement.document(of: key)
            )
            for advertising in advertising {
                try advertising.advertise(
                    advertisement,
                    stored: registry.storedEvents(of: advertising.key),
                    keep: { try registry.keep($0) }
                )
            }
        } catch {
            logger.error("The advertisement could not be kept, so there is none", metadata: ["error": "\(error)"])
        }
    }
}
