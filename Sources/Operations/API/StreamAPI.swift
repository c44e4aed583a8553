import Console
import Rules

/// What happens, while it happens.
struct StreamAPI {
    let stream: LiveStream

    var operations: [APIOperation] { [live] }

    private var live: APIOperation {
        APIOperation(
            APIEndpoint(
                .get,
                "/v1/stream",
                for: .scope(.read),
                [
                    .query("kind", .plain(100), "Entries of these kinds alone, separated by commas: \(Self.kinds)."),
                    .query("platform", .text(64), "Those about a platform."),
                    .query("app", .text(64), "Those about an app."),
                    .query("event", .text(1_000), "About an event: 64 hex digits, note1… or nevent1…, also in a link."),
                    .query("account", .text(100), "Those about an account: 64 hex digits or npub1…."),
                    .query("member", .text(64), "Those of a member of the cluster."),
                    .header("last-event-id", .text(64), "The `id` of the last entry that the reader had."),
                ]
            ) { [stream] call in
                let reader: LiveReader
                do {
                    reader = try stream.open(
                        Self.filter(call),
                        for: call.principal,
                        after: call.field("last-event-id")
                    )
                } catch let failure as OperationFailure {
                    throw APIProblem(failure)
                }
                return ConsoleAnswer(live: reader, contentType: "text/event-stream")
            },
            .now,
            "What happens, while it happens, as server-sent events: ids and words, never content.",
            .events(LiveEntry.schema)
        )
    }

    private static var kinds: String { LiveEntry.Kind.allCases.map(\.rawValue).joined(separator: ", ") }

    private static func filter(_ call: APICall) throws -> LiveFilter {
        var filter = LiveFilter()
        if let text = call.query["kind"] {
            filter.kinds = try Set(
                text.split(separator: ",", omittingEmptySubsequences: false).map { word in
                    guard let kind = LiveEntry.Kind(rawValue: String(word)) else {
                        throw APIProblem(400, "kind: expected \(kinds)")
                    }
                    return kind
                }
            )
        }
        filter.platform = call.query["platform"]
        filter.app = call.query["app"]
        filter.member = call.query["member"]
        filter.event = try call.query["event"].map(OperatorWords.event)
        filter.account = try call.query["account"].map { try OperatorWords.key($0, "account") }
        return filter
    }
}
