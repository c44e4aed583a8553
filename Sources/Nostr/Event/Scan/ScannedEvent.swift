/// What ``EventScanner`` saw of an event: the fixed fields decoded, content and tags as places in the bytes it lies in.
///
/// Says nothing about id and signature being right: ``EventVerifier`` does.
package struct ScannedEvent: Hashable, Sendable {
    package let id: EventID
    package let pubkey: PublicKey
    /// Seconds since 1970, as the author claims.
    package let createdAt: Int64
    package let kind: Kind
    package let signature: Signature
    package let content: ScannedText
    package let tags: ScannedText

    /// Whether content and tags stand there exactly as in the canonical form of NIP-01.
    package var isCanonical: Bool { content.isCanonical && tags.isCanonical }
}
