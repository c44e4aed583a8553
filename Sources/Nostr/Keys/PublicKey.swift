/// An x-only secp256k1 public key (BIP-340), which is who somebody is on Nostr. Not necessarily a point on the curve:
/// verifying finds out.
package struct PublicKey: Hashable, Sendable {
    package let bytes: Bytes32

    package init(_ bytes: Bytes32) {
        self.bytes = bytes
    }
}
