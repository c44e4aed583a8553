import CarillonLab
import Testing

/// Gotify's responses to a message, row by row. A rejected token concerns only its owner, who may restore it within a
/// minute.
struct GotifyStatusTests {
    private static let rows: [StatusRow] = [
        .delivered(.says(200)),
        .rejected(.says(400), "bad-request"),
        .rejected(.says(401), "unauthorized"),
        .rejected(.says(403), "forbidden"),
        .rejected(.says(404), "not-found"),
        .rejected(.html(status: 302), "redirect"),
        .rejected(.html(status: 410), "gone"),
        .reduced(.html(status: 413), "payload-too-large"),
        .retry(.html(status: 429), "too-many-requests", wait: .seconds(5), holdsUp: .host),
        .retry(.says(429, retryAfter: 11), "too-many-requests", wait: .seconds(11), holdsUp: .host),
        .retry(.says(500), "server-error"),
        .retry(.html(status: 502), "server-error"),
        .retry(.html(status: 503), "server-error", wait: .seconds(5), holdsUp: .host),
    ]

    @Test(arguments: rows)
    func everyStatus(_ row: StatusRow) async throws { try await row.check(with: Gotify()) }
}
