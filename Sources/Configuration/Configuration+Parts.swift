import HTTPClient
import Registry
import Relays

extension RemoteSigningConfiguration {
    /// The rules for NIP-46 sessions: who may open one, and on which relays.
    package init(_ configuration: Configuration) {
        let own = configuration.relay.ownURL
        self.init(
            requireSession: configuration.registration.requireSession || configuration.access.mode == .inviteOnly,
            secretFile: configuration.registration.secretFile,
            relays: (own.isEmpty ? [] : [own]) + configuration.relays.nip46.map(\.text)
        )
    }
}

extension Configuration.HTTP {
    /// The settings for outgoing HTTP.
    package var lanes: HTTPLanes.Configuration {
        var lanes = HTTPLanes.Configuration(caFile: caFile, allowPrivate: allowPrivate, proxy: proxy)
        if let connections = connectionsPerOrigin { lanes.lanes.connectionsPerOrigin = connections }
        return lanes
    }
}
