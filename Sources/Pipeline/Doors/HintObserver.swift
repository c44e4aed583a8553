import Nostr

/// Learns which partners are alive (seed 004, kind 20062). Called on the pipeline's thread; must not block.
package protocol HintObserver: Sendable {
    /// A proven key of `partner`, whom a device of `account` names as one, sent a fresh hint. `moment` is when it came, in
    /// milliseconds since 1970.
    func heard(account: PublicKey, partner: PublicKey, at moment: Int64)
}
