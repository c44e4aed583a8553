import Console
import Observability
import RouterConfiguration
import WebIngress

extension Configuration {
    /// This one, with all of `new` that can change while the router runs.
    func reloaded(from new: Configuration) -> Configuration {
        var result = self
        result.rulesFiles = new.rulesFiles
        result.apps = new.apps
        result.defaults.mode = new.defaults.mode
        result.defaults.pacing = new.defaults.pacing
        result.filters = new.filters
        result.shutdownTime = new.shutdownTime
        result.access = new.access
        result.log = new.log
        if let file = new.api?.tokenFile { result.api?.tokenFile = file }
        return result
    }

    /// The changed keys of the file that require a restart.
    func keysRequiringRestart(in new: Configuration) -> [String] {
        let same: [(key: String, isSame: Bool)] = [
            ("identity", keyFile == new.keyFile),
            ("store", storePath == new.storePath && maxWaiting == new.maxWaiting),
            ("relay", relay == new.relay),
            ("subscribe", subscribePage == new.subscribePage),
            ("relays", relays == new.relays),
            ("hints", hints == new.hints),
            (
                "registration",
                registration.requireSession == new.registration.requireSession
                    && registration.secretFile == new.registration.secretFile
            ),
            (
                "context",
                context.isOn == new.context.isOn && context.wait == new.context.wait
                    && context.path == new.context.path
            ),
            ("trace", trace == new.trace),
            ("dead_letters", deadLetters == new.deadLetters),
            ("tracing", tracing.settings == new.tracing.settings),
            ("operational_events", operationalEvents == new.operationalEvents),
            ("plugins", plugins.isExtended(by: new.plugins)),
            ("http", http == new.http),
            ("sealed_ingress", Self.areSame(sealedIngress, new.sealedIngress)),
            ("api", Self.areSame(api, new.api)),
            ("cluster", Self.areSame(cluster, new.cluster)),
        ]
        return same.filter { !$0.isSame }.map(\.key)
    }

    private static func areSame(_ old: Cluster?, _ new: Cluster?) -> Bool {
        guard let old, let new else { return old == nil && new == nil }
        return old.servers == new.servers && old.name == new.name && old.prefix == new.prefix
            && old.partitions == new.partitions && old.replicas == new.replicas && old.credentials == new.credentials
            && old.tls == new.tls
    }

    private static func areSame(_ old: SealedIngress?, _ new: SealedIngress?) -> Bool {
        guard let old, let new else { return old == nil && new == nil }
        return old.app == new.app && old.platform == new.platform && old.trustedProxies == new.trustedProxies
            && old.devices == new.devices
            && old.web.host == new.web.host && old.web.port == new.web.port && old.web.locKey == new.web.locKey
            && old.web.limits == new.web.limits
    }

    private static func areSame(_ old: API?, _ new: API?) -> Bool {
        guard let old, let new else { return old == nil && new == nil }
        return old.console.host == new.console.host
            && old.console.port == new.console.port && old.console.openMetrics == new.console.openMetrics
            && old.console.inbound?.publicURL == new.console.inbound?.publicURL
            && old.trustedProxies == new.trustedProxies && old.signOn == new.signOn
            && old.streamReaders == new.streamReaders
    }
}
