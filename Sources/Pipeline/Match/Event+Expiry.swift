import Nostr

extension Event {
    /// When telling of it makes no sense any more (NIP-40), in milliseconds since 1970; 0: never.
    var expiresAt: Int64 {
        guard let expiration else { return 0 }
        let (moment, overflow) = expiration.multipliedReportingOverflow(by: 1000)
        return overflow ? .max : max(1, moment)
    }
}
