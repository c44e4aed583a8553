import CarillonLab
import Testing

/// Failures of requests below HTTP's semantics (RFC 9113 sections 6.8, 7 and 8.7). Provably unprocessed requests are
/// resent within the attempt; all others may have been processed, and are retried in another attempt.
struct ConnectionStatusTests {
    /// Rows for the busy push services.
    private static let http2: [StatusRow] = [
        .delivered(.goAway(gracefully: true)),
        .delivered(.goAway(gracefully: false), requests: 2),
        .delivered(.goAway(gracefully: false, reason: "Shutdown"), requests: 2),
        .delivered(.refuseStream, requests: 2),
        .delivered(.limitStreams(1)),
        .delivered(.delay(milliseconds: 5)),
        .retry(.close, "closed"),
        .retry(.close, "closed", isProven: false),
        .retry(.cut, "closed"),
        .retry(.reset(code: 0x0), "closed"),
        .retry(.reset(code: 0x1), "closed"),
        .retry(.reset(code: 0x2), "closed"),
        .retry(.reset(code: 0x3), "closed"),
        .retry(.reset(code: 0x5), "closed"),
        .retry(.reset(code: 0x6), "closed"),
        .retry(.reset(code: 0x8), "closed"),
        .retry(.reset(code: 0xb), "closed"),
        .retry(.reset(code: 0xd), "closed"),
        .retry(.silence, "deadline"),
    ]

    /// Rows for push services that users choose.
    private static let http1: [StatusRow] = [
        .delivered(.goAway(gracefully: true)),
        .delivered(.delay(milliseconds: 5)),
        .retry(.close, "closed"),
        .retry(.close, "closed", isProven: false),
        .retry(.cut, "closed"),
        .retry(.silence, "deadline"),
    ]

    @Test(arguments: http2)
    func connectionFailuresOfAPNs(_ row: StatusRow) async throws { try await row.check(with: APNs()) }

    @Test(arguments: http2)
    func connectionFailuresOfFCM(_ row: StatusRow) async throws { try await row.check(with: FCM()) }

    @Test(arguments: http1)
    func connectionFailuresOfUnifiedPush(_ row: StatusRow) async throws { try await row.check(with: UnifiedPush()) }

    @Test(arguments: http1)
    func connectionFailuresOfWebPush(_ row: StatusRow) async throws { try await row.check(with: WebPush()) }

    @Test(arguments: http1)
    func connectionFailuresOfNtfy(_ row: StatusRow) async throws { try await row.check(with: Ntfy()) }

    @Test(arguments: http1)
    func connectionFailuresOfGotify(_ row: StatusRow) async throws { try await row.check(with: Gotify()) }
}
