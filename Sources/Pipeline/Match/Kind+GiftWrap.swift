import Nostr

extension Kind {
    /// Whether events of this kind are dated back and signed by a key made for each (NIP-59).
    var isGiftWrap: Bool { self == .giftWrap || self == .ephemeralGiftWrap }
}
