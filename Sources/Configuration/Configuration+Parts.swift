import Core
import HTTPClient
import Nostr
import Registry
import Relays
import Rules

extension Configuration {
    /// The settings of the account watch, which decides which accounts are read on which relays.
    package var accountWatch: AccountWatch.Configuration {
        var watch = AccountWatch.Configuration()
        watch.always = relays.always
        watch.perUser = relays.perUser
        watch.hints = hints.policy
        watch.silentAfter = hints.silentAfter
        return watch
    }

    /// Returns how to connect to relays, and the kinds that `rules` and filters need; filters read `lists` of accounts.
    package func relayPool(for rules: RuleBook, lists: Set<Kind> = []) -> RelayPool.Configuration {
        var pool = RelayPool.Configuration()
        let wishes = relayWishes(of: rules, lists: lists)
        pool.addressedKinds = wishes.addressedKinds
        pool.furtherLists = wishes.furtherLists
        pool.catchUp = relays.catchUp
        pool.caFile = http.caFile
        pool.allowPrivate = http.allowPrivate
        pool.operators = Set(relays.always + relays.nip46 + relays.publish)
        // Account watch has the same limit and decides first. Relays in backoff after failures stay known for a while.
        pool.maxRelays = 2 * accountWatch.maxRelays
        return pool
    }

    /// Returns the kinds to request from relays for `rules`, and for filters, which read `lists` of accounts.
    package func relayWishes(of rules: RuleBook, lists: Set<Kind>) -> RequestedKinds {
        var wishes = RequestedKinds(furtherLists: rules.asksForFollows ? lists.union([.contactList]) : lists)
        if let kinds = rules.notifiableKinds {
            wishes.addressedKinds = Set(kinds.map { Kind($0) })
            if hints.policy != .ignore { wishes.addressedKinds?.insert(.wakeUpHint) }
        }
        return wishes
    }

    /// The URL of the relay socket for clients; empty with port 0, before the system has chosen a port.
    private var ownURL: String { relay.url.isEmpty && relay.port == 0 ? "" : relay.clientURL(port: relay.port) }

    /// Whether a URL leads to the relay socket, in any spelling.
    package var isOwnRelay: @Sendable (String) -> Bool {
        let own = RelayURL(ownURL)
        return { text in own != nil && RelayURL(text) == own }
    }

    /// The rules for NIP-46 sessions: who may open one, and on which relays.
    package var remoteSigning: RemoteSigningConfiguration {
        let own = ownURL
        return RemoteSigningConfiguration(
            requireSession: registration.requireSession || access.mode == .inviteOnly,
            secretFile: registration.secretFile,
            relays: (own.isEmpty ? [] : [own]) + relays.nip46.map(\.text)
        )
    }
}

extension Configuration {
    /// The settings for outgoing HTTP.
    package var lanes: HTTPLanes.Configuration {
        var lanes = HTTPLanes.Configuration(
            caFile: http.caFile,
            allowPrivate: http.allowPrivate,
            proxy: http.proxy
        )
        if let connections = http.connectionsPerOrigin { lanes.lanes.connectionsPerOrigin = connections }
        return lanes
    }
}
