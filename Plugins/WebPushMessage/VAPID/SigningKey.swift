package import PluginKit

/// Which of the operator's keys a subscription's messages are signed with: the registration's `vapid` names the public half
/// that its app subscribed with.
package enum SigningKey: Sendable, Hashable {
    /// The registration does not say.
    case unsaid
    /// The key at that place of the ring.
    case known(Int)
    /// None that we hold.
    case unknown

    package init(_ registration: borrowing Registration, in ring: VAPIDKeyRing?) {
        guard let field = registration.field("vapid"), !field.isEmpty else {
            self = .unsaid
            return
        }
        self = ring?.index(of: field).map(SigningKey.known) ?? .unknown
    }

    /// Throws for a key that we do not hold, and tells the app which one to subscribe with: the public half is no secret.
    package static func validate(
        _ registration: borrowing Registration,
        in ring: VAPIDKeyRing?
    ) throws(PluginError) {
        guard case .unknown = SigningKey(registration, in: ring) else { return }
        guard let ring, let current = ring.tokens.first else {
            throw PluginError("vapid: expected nothing, as this router signs with no VAPID key: subscribe without one")
        }
        throw PluginError(
            "vapid: expected the public key that the app subscribed with, which this router holds: "
                + "\(current.publicKey); found another: subscribe anew with that one"
        )
    }
}
