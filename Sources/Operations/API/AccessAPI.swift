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
        .query("kind", .choice(["invitation"]), "The kind of the subject, if its form is ambiguous."),
        .query("reason", .text(200), "A note for operators."),
        .query("seconds", .integer(1...315_360_000), "The duration in seconds. Default: unlimited."),
    ]

    let view: MemberView

    var operations: [APIOperation] {
        [list, rules, show]
            + [
                ("block", "Blocks a key, a network or the users of an invitation."),
                ("unblock", "Removes a block."), ("allow", "Allows a key or the users of an invitation."),
                ("disallow", "Removes a permission."),
            ]
            .map { verb, summary in decide(verb, "users", .users, summary) }
            + [relayList]
            + [("block", "Blocks a relay that users chose."), ("unblock", "Removes the block of a relay.")]
            .map { verb, summary in decide(verb, "relays", .relays, summary) }
    }

    private var list: APIOperation {
        .onDisk(
            .get("/v1/users"),
            .users,
            "Lists accounts in the order of their keys, with a summary of their devices.",
            [
                .query("platform", .text(64), "Only accounts with a device of this platform."),
                .query("app", .text(64), "Only accounts with a device of this app."),
                .query("blocked", .choice(["true", "false"]), "Only blocked accounts."),
                .query("after", .text(100), "`next` of the previous response, or a key."),
                .query("limit", .integer(1...Int64(UserOperations.page)), "Page size. Default: 1000."),
            ]
        ) { [users = view.users] call in try users.list(UserOperations.Query(call.query)) }
    }

    private var show: APIOperation {
        .report(
            .get("/v1/users/{user}"),
            .users,
            "Returns an account's details.",
            [.path("user", .text(100), "64 hex digits or npub1….")]
        ) { [view] call in try await view.user(call.path("user")) }
    }

    private var rules: APIOperation {
        .report(.get("/v1/users/rules"), .users, "Returns the access rules.") { [users = view.users] _ in users.rules }
    }

    private func decide(
        _ verb: String,
        _ folder: String,
        _ group: APIOperation.Group,
        _ summary: String
    ) -> APIOperation {
        .onDisk(.post("/v1/\(folder)/\(verb)"), group, summary, Self.decision) { [users = view.users] call in
            try users.decide(AccessRequest(verb, isRelay: folder == "relays", call.query))
        }
    }

    private var relayList: APIOperation {
        .report(
            .get("/v1/relays"),
            .relays,
            "Lists the relays that the router knows, with the status of each.",
            [.query("containing", .text(200), "Only relays whose URL contains this string, with more details.")]
        ) { [view] call in try await view.relays.whole(call.query["containing"]) }
    }
}
