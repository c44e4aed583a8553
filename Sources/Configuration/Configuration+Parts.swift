import Core
import HTTPClient
import Nostr
import Registry
import Relays
import Rules

extension Configuration {
    /// Whom to watch where.
    package var accountWatch: AccountWatch.Configuration {
        var watch = AccountWatch.Configuration()
        watch.always = relays.always
        watch.perUser = relays.perUser
        watch.hints = hints.policy
        watch.silentAfter = hints.silentAfter
        return watch
    }

    /// How to connect to relays, and what `rules` and filters want of them: these read `lists` of accounts' own.
    package func relayPool(for rules: RuleBook, lists: Set<Kind> = []) -> RelayPool.Configuration {
        var pool = RelayPool.Configuration()
        let wishes = relayWishes(of: rules, lists: lists)
        pool.addressedKinds = wishes.addressedKinds
        pool.furtherLists = wishes.furtherLists
        pool.catchUp = relays.catchUp
        pool.caFile = http.caFile
        pool.allowPrivate = http.allowPrivate
        pool.operators = Set(relays.always + relays.nip46 + relays.publish)
        // Who is watched where has the same limit, and the last word: relays that rest after failures stay known for a
        // while.
        pool.maxRelays = 2 * accountWatch.maxRelays
        return pool
    }

    /// What relays are asked for on account of `rules`, and of filters, which read `lists` of accounts' own.
    package func relayWishes(of rules: RuleBook, lists: Set<Kind>) -> RequestedKinds {
        var wishes = RequestedKinds(furtherLists: rules.asksForFollows ? lists.union([.contactList]) : lists)
        if let kinds = rules.notifiableKinds {
            wishes.addressedKinds = Set(kinds.map { Kind($0) })
            if hints.policy != .ignore { wishes.addressedKinds?.insert(.wakeUpHint) }
        }
        return wishes
    }

    /// Where clients find our own socket; empty with port 0, where the system has yet to choose one.
    private var ownURL: String { relay.url.isEmpty && relay.port == 0 ? "" : relay.clientURL(port: relay.port) }

    /// Whether that is our own socket's URL, in whatever spelling.
    package var isOwnRelay: @Sendable (String) -> Bool {
        let own = RelayURL(ownURL)
        return { text in own != nil && RelayURL(text) == own }
    }

    /// Who may open sessions, and where.
    package var remoteSigning: RemoteSigningConfiguration {
        let own = ownURL
        return RemoteSigningConfiguration(
            requireSession: registration.requireSession || access.mode == .invited,
            secretFile: registration.secretFile,
            relays: (own.isEmpty ? [] : [own]) + relays.nip46.map(\.text)
        )
    }
}

extension Configuration {
    /// How outgoing HTTP behaves.
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
