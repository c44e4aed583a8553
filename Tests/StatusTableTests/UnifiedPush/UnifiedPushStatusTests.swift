import CarillonLab
import Testing

/// UnifiedPush's server specification, and ntfy's responses as such a server, row by row.
@Suite(.stage(UnifiedPush()))
struct UnifiedPushStatusTests {
    private static let rows: [StatusRow] = [
        .delivered(.says(200)),
        .delivered(.says(201)),
        .delivered(.says(202)),
        .rejected(.redirect(301), "redirect"),
        .rejected(.redirect(302), "redirect"),
        .rejected(.redirect(303), "redirect"),
        .rejected(.redirect(307), "redirect"),
        .rejected(.redirect(308), "redirect"),
        .rejected(.says(400), "other"),
        .rejected(.says(401), "unauthorized"),
        .rejected(.says(403), "forbidden"),
        // Perhaps a proxy's page: it is tried again, and final only an hour later.
        .retry(.says(404), "not-found"),
        .rejected(.says(405), "other"),
        .retry(.says(408), "timeout"),
        .gone(.says(410), "gone"),
        .reduced(.says(413), "payload-too-large"),
        .retry(.says(429), "too-many-requests", wait: .seconds(5), holdsUp: .host),
        .retry(.says(429, retryAfter: 40), "too-many-requests", wait: .seconds(40), holdsUp: .host),
        .retry(.says(429, body: #"{"code":42908}"#), "daily-limit", wait: .midnight),
        .retry(.says(500), "server-error", wait: .seconds(0)),
        .retry(.html(status: 502), "server-error", wait: .seconds(0)),
        .retry(.says(503), "server-error", wait: .seconds(5), holdsUp: .host),
        .retry(.says(503, retryAfter: 25), "server-error", wait: .seconds(25), holdsUp: .host),
        .retry(.html(status: 504), "server-error"),
        .retry(.says(507), "insufficient-storage"),
    ]

    @Test(arguments: rows)
    func everyStatus(_ row: StatusRow) async throws { try await row.check(with: UnifiedPush()) }
}

extension ScriptedBehavior.Action {
    /// A redirect to another topic, which would accept the message.
    fileprivate static func redirect(_ status: Int) -> Self {
        .says(status, body: "", headers: [LabHeader("location", "/upElsewhere?up=1")])
    }
}

/// Push servers of the users' own choice, to be reached under two names.
struct UnifiedPush: PushService {
    let platform = "unifiedpush"
    let service = LabService.unifiedPush

    func configure(_ lab: inout LabConfiguration) {
        lab.unifiedPush = LabConfiguration.UnifiedPush()
    }

    func block(_ app: App, _ lab: Lab) -> [String: any Sendable] { [:] }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) -> Place {
        let topic = "up\(device.rawValue)of\(bench)"
        return Place(token: "\(device.reached(at: lab.unifiedPushURL))/\(topic)?up=1", target: topic)
    }
}
