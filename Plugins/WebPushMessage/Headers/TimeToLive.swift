/// The value of `TTL` (RFC 8030 section 5.2), in seconds.
package enum TimeToLive {
    /// A day.
    private static let standard: Int64 = 86_400
    /// Four weeks: push services keep nothing longer.
    package static let longest: Int64 = 2_419_200

    /// What is left until `expiresAt` at `now`, both in milliseconds since 1970; 0 asks for one attempt.
    package static func seconds(until expiresAt: UInt64?, now: Int64) -> Int64 {
        guard let expiresAt else { return standard }
        return min(max(0, (Int64(clamping: expiresAt) - now) / 1000), longest)
    }
}
