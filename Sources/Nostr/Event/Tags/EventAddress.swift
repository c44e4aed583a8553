/// Where the newest version of a replaceable or addressable event is found (NIP-01): `kind:pubkey:d`.
package struct EventAddress: Hashable, Sendable, CustomStringConvertible {
    package let kind: Kind
    package let pubkey: PublicKey
    /// The value of `d`; empty for replaceable events. May contain colons.
    package let identifier: String

    package init(kind: Kind, pubkey: PublicKey, identifier: String) {
        self.kind = kind
        self.pubkey = pubkey
        self.identifier = identifier
    }

    /// Reads the value of an `a` tag. The colon after the pubkey must be there even if nothing follows it.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let kind = UInt16(parts[0]), let pubkey = PublicKey(hex: parts[1]) else {
            return nil
        }
        self.init(kind: Kind(kind), pubkey: pubkey, identifier: String(parts[2]))
    }

    package var description: String {
        "\(kind.rawValue):\(pubkey.hex):\(identifier)"
    }
}
