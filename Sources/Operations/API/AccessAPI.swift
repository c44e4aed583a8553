import Console
import Rules

/// Endpoints for users and relays, and the operator's decisions about them.
struct AccessAPI {
    private static let subject = APIParameter.query(
        "subject",
        .text(500),
        "a key, a network, an invitation's digest or a relay",
        isRequired: true
    )
    private static let decision: [APIParameter] = [
        subject,
        .query("kind", .choice(["invitation"]), "What the subject is, where that cannot be seen."),
        .query("reason", .text(200), "For the operator's memory."),
        .query("seconds", .integer(1...315_360_000), "For how long; for good when left out."),
    ]

    let users: UserOperations
    let view: MemberView

    var operations: [APIOperation] {
        [list, rules, show]
            + [
                ("block", "Keeps a key, a network or the bearers of an invitation out."),
                ("unblock", "Takes a block back."), ("allow", "Lets a key or the bearers of an invitation in."),
                ("disallow", "Takes a leave back."),
            ]
            .map { verb, summary in decide(verb, "users", .users, summary) }
            + [relayList]
            + [("block", "Keeps away from a relay that users named."), ("unblock", "Takes that back.")]
            .map { verb, summary in decide(verb, "relays", .relays, summary) }
    }

    private var list: APIOperation {
        .onDisk(
            .get("/v1/users"),
            .users,
            "Accounts in the order of their keys, with their devices in sum.",
            [
                .query("platform", .text(64), "With a device of that platform."),
                .query("app", .text(64), "With a device of that app."),
                .query("blocked", .choice(["true", "false"]), "Only those that are blocked."),
                .query("after", .text(100), "`next` of the answer before, or a key."),
                .query("limit", .integer(1...Int64(UserOperations.page)), "How many at most; 1000."),
            ]
        ) { [users] call in try users.list(UserOperations.Query(call.query)) }
    }

    private var show: APIOperation {
        .report(
            .get("/v1/users/{user}"),
            .users,
            "What is known of an account.",
            [.path("user", .text(100), "64 hex digits or npub1….")]
        ) { [view] call in try await view.accounts.show(call.path("user")) }
    }

    private var rules: APIOperation {
        .report(.get("/v1/users/rules"), .users, "The rules of access.") { [users] _ in users.rules }
    }

    private func decide(
        _ verb: String,
        _ folder: String,
        _ group: APIOperation.Group,
        _ summary: String
    ) -> APIOperation {
        .onDisk(.post("/v1/\(folder)/\(verb)"), group, summary, Self.decision) { [users] call in
            try users.decide(AccessRequest(verb, isRelay: folder == "relays", call.query))
        }
    }

    private var relayList: APIOperation {
        .report(
            .get("/v1/relays"),
            .relays,
            "The relays that the router knows, and how it stands with each.",
            [.query("containing", .text(200), "Those whose URL contains that text, in more detail.")]
        ) { [view] call in try await view.relays.whole(call.query["containing"]) }
    }
}
