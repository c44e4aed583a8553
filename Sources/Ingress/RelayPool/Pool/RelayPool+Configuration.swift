import Nostr

extension RelayPool {
    /// How a pool connects and what it asks for.
    package struct Configuration: Sendable {
        /// Kinds that are asked for by the keys they name. Default: nil, every kind.
        package var addressedKinds: Set<Kind>?
        /// Replaceable kinds that are asked for of those whose lists of relays and devices are, such as contact lists (kind 3).
        /// Default: none.
        package var furtherLists: Set<Kind> = []
        /// How far back is read after an absence, in seconds. Default: two days.
        package var catchUpSeconds: Int64 = 172_800
        /// A PEM file with roots to trust besides the system's. Default: none.
        package var caFile: String?
        /// Blocks in CIDR notation that users' URLs may lead to although they are not public, such as `10.1.2.0/24`.
        /// Default: none.
        package var allowPrivate: [String] = []
        /// Relays that may be at private addresses and are never given up, whoever names them. Default: none but those that are kept.
        package var operators: Set<RelayURL> = []
        /// Relays named by users that are connected to at most; further ones are left out. Default: 10,000.
        package var maxRelays = 10_000
        package var limits = ConnectionLimits()
        package var pauses = ConnectionPauses()

        package init() {}
    }
}
