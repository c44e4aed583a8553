import Console
import Core
import Foundation
import Nostr
import Registry
import Relays
import RouterConfiguration
import Rules

/// An operator's access decision as entered, before parsing.
package struct AccessRequest: Sendable, Equatable {
    package enum Verb: String, Sendable, CaseIterable {
        case block, unblock, allow, disallow
    }

    package var verb: Verb
    /// A key, a network, an invitation's digest or a relay, depending on `kind`.
    package var subject: String
    /// Default: a key or a network, depending on the string.
    package var kind: AccessSubject.Kind?
    package var reason: String
    /// Default: permanent.
    package var span: Duration?

    package init(
        _ verb: Verb,
        _ subject: String,
        kind: AccessSubject.Kind? = nil,
        reason: String = "",
        span: Duration? = nil
    ) {
        self.verb = verb
        self.subject = subject
        self.kind = kind
        self.reason = reason
        self.span = span
    }

    /// Returns the parsed subject. Throws an ``OperationError`` if it is invalid.
    func meaning() throws(OperationError) -> AccessSubject {
        let (found, expected): (AccessSubject?, String) =
            switch kind {
            case nil, .key, .network: (AccessWords.user(subject), AccessWords.users)
            case .relay: (AccessWords.relay(subject), AccessWords.relays)
            case .invitation:
                (
                    subject.utf8.count == 64 && subject.utf8.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
                        ? .invitation(subject) : nil, "an invitation's digest"
                )
            }
        guard let found else { throw .invalid("expected \(expected)") }
        return found
    }
}

/// An access rule for operators.
package struct AccessRuleReport: OperatorAnswer, Equatable {
    /// `key`, `network`, `invitation` or `relay`.
    package var kind: String
    package var subject: String
    /// Only for keys.
    package var npub: String?
    /// `blocked` or `allowed`.
    package var decision: String
    package var reason: String?
    package var since: String?
    package var until: String?
    /// `configuration` or `command`.
    package var source: String

    init(_ rule: AccessRule) {
        kind = rule.subject.kind.rawValue
        subject = rule.subject.text
        if case .key(let key) = rule.subject { npub = NIP19.npub(key) }
        decision = rule.isBlock ? "blocked" : "allowed"
        reason = rule.reason.isEmpty ? nil : rule.reason
        since = rule.isConfigured ? nil : rule.madeAt.rfc3339
        until = rule.until.map(\.rfc3339)
        source = rule.isConfigured ? "configuration" : "command"
    }

    package var text: String { row.joined(separator: "  ") }

    fileprivate var row: [String] {
        let name = kind == "invitation" ? "\(subject.prefix(12))…" : npub ?? subject
        let words = reason.map { "\"\($0)\"" } ?? "-"
        return [decision, kind, name, until.map { "until \($0.minute)" } ?? "for good", source, words]
    }
}

/// All active rules.
package struct AccessReport: OperatorAnswer, Equatable {
    /// `open`, `invite-only`, or `allowlist`.
    package var mode: String
    package var rules: [AccessRuleReport]

    init(_ access: AccessList) {
        mode = access.mode.rawValue
        rules = access.rules.map { AccessRuleReport($0) }
    }

    package var text: String {
        let who =
            switch AccessMode(rawValue: mode) {
            case .inviteOnly: "only invited and allowed accounts may register"
            case .allowlist: "only allowed accounts may register"
            case .open, nil: "all accounts that are not blocked may register"
            }
        let head = ["VERDICT", "KIND", "WHO", "UNTIL", "SOURCE", "REASON"]
        let table = rules.isEmpty ? ["no rules"] : TextTable.lines([head] + rules.map(\.row))
        return (["mode \(mode): \(who)"] + table).joined(separator: "\n")
    }
}

/// The result of an access decision.
package struct AccessAnswer: OperatorAnswer, Equatable {
    /// The rule that was added or removed.
    package var rule: AccessRuleReport
    package var isInForce: Bool
    /// The number of devices that the decision disables or enables.
    package var devices: Int
    package var notes: [String] = []

    package var text: String {
        let what = isInForce ? rule.text : "rule removed: \(rule.text)"
        let count = devices > 0 ? ["\(devices) devices \(isInForce ? "are out of use" : "are in use again")"] : []
        return ([what] + count + notes).joined(separator: "\n")
    }
}

/// Access decisions of operators.
extension RouterOrFiles {
    /// Throws an ``OperationError`` if the decision is not possible, and `Diagnostics` for an invalid key file.
    package func decide(_ request: AccessRequest) async throws -> AccessAnswer {
        var request = request
        if request.kind == .invitation { request.subject = try digest(of: request.subject) }
        // Checked before asking the router, which would report the same error.
        _ = try request.meaning()
        do {
            return try OperatorAccess(configuration, for: .changing).users.decide(request)
        } catch let error as StoreLockError where error.isOfStoreInUse {
            return try await APIClient(configuration: configuration).answer("POST", target(of: request))
        }
    }

    /// The secret itself is not sent.
    private func digest(of invitation: String) throws -> String {
        let identity = try IdentityFile(path: configuration.identity.keyFile).read()
        let keys = try RouterKeyStore.keys(of: identity, at: configuration.store.path)
        guard let digest = try InvitationDigest.text(of: invitation, keys.seeds) else {
            throw OperationError.invalid("expected an invitation: a bunker:// URL with a secret, or only the secret")
        }
        return digest
    }

    private func target(of request: AccessRequest) -> String {
        var parameters = ["subject": request.subject, "reason": request.reason]
        if request.kind == .invitation { parameters["kind"] = "invitation" }
        if let span = request.span { parameters["seconds"] = "\(span.seconds)" }
        let query = parameters.sorted { $0.key < $1.key }.filter { !$0.value.isEmpty }
            .map { "\($0.key)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
        let folder = request.kind == .relay ? "relays" : "users"
        return "/v1/\(folder)/\(request.verb.rawValue)?\(query)"
    }
}

extension AccessRequest {
    /// Parses an API request. Throws an ``OperationError`` if it is invalid.
    init(_ verb: String, isRelay: Bool, _ parameters: [String: String]) throws(OperationError) {
        guard let verb = Verb(rawValue: verb), let subject = parameters["subject"] else {
            throw .invalid("expected subject=, and one of block, unblock, allow or disallow")
        }
        self.init(
            verb,
            subject,
            kind: isRelay ? .relay : parameters["kind"].flatMap { AccessSubject.Kind(rawValue: $0) },
            reason: parameters["reason"] ?? "",
            span: try OperatorWords.seconds(parameters)
        )
    }
}

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
