import Console
import Rules

/// Deliveries that wait or failed.
struct QueueAPI {
    let view: ClusterView

    var operations: [APIOperation] { [list, show, retry, drop] }

    private static let selection: [APIParameter] = [
        .query("id", .plain(8_000), "Deliveries by id, separated by commas."),
        .query("platform", .text(64), "Those of a platform."),
        .query("app", .text(64), "Those of an app."),
        .query("host", .text(255), "Those to endpoints at a host."),
        .query("device", .integer(Int64.min...Int64.max), "Those to a device."),
        .query("reason", .text(200), "Those whose last failure had that reason."),
        .query("since", .text(40), "Accepted since then: as in 2h, 2026-11-22 or 2026-11-22T07:00:00Z."),
        .query("until", .text(40), "Accepted until then."),
        .query("state", .choice(["waiting", "failed"]), "In that state alone."),
    ]
    private static let change: [APIParameter] =
        selection + [
            .query("all", .flag, "Mean all of them, where nothing else narrows them down."),
            .query("dry_run", .flag, "Only say how many."),
        ]

    private var list: APIOperation {
        .report(
            .get,
            "/v1/queue",
            for: .scope(.read),
            .queue,
            "Deliveries that wait or failed for good.",
            Self.selection + [
                .query("after", .text(200), "`next` of the answer before."),
                .query("limit", .integer(1...1_000), "How many at most; 100."),
            ],
            formerly: ["/api/queue"]
        ) { [view] call in try await view.queue(call.query) }
    }

    private var show: APIOperation {
        .report(
            .get,
            "/v1/queue/{id}",
            for: .scope(.read),
            .queue,
            "All that is known of a delivery.",
            [.path("id", .plain(100), "A delivery's id.")],
            formerly: ["/api/queue/{id}"]
        ) { [view] call in try await view.delivery(call.path("id")) }
    }

    private var retry: APIOperation {
        .report(
            .post,
            "/v1/queue/retry",
            for: .scope(.operate),
            .queue,
            "Sends again what failed for good, and makes due what waits for a later time.",
            Self.change + [.query("unpause", .flag, "End the pauses of their queues.")],
            formerly: ["/api/queue/retry"]
        ) { [view] call in try await view.retry(call.query) }
    }

    private var drop: APIOperation {
        .report(
            .post,
            "/v1/queue/drop",
            for: .scope(.operate),
            .queue,
            "Drops deliveries that wait or failed.",
            Self.change,
            formerly: ["/api/queue/drop"]
        ) { [view] call in try await view.drop(call.query) }
    }
}
