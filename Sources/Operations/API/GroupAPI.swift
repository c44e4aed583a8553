import Console
import Core
import JSON
import Nostr
import Registry
import Rules

/// Endpoints for groups of an app's users, which senders maintain.
struct GroupAPI {
    private static let page = 1_000
    /// The limit of accounts to add, and of accounts to remove, in one request.
    private static let maxChanges = 2_500
    private static let app = APIParameter.query("app", .text(64), "the app of the group", isRequired: true)
    private static let group = APIParameter.path(
        "group",
        .text(GroupName.longest),
        "A name of letters, digits, `.`, `_` and `-`."
    )

    let registry: Registry
    /// The names of the configuration's apps.
    let apps: @Sendable () -> [String]

    var operations: [APIOperation] { [list, members, change] }

    private var list: APIOperation {
        .onDisk(
            .get("/v1/groups", for: .scope(.send)),
            .notify,
            "Lists the groups of an app, with the number of members.",
            [Self.app]
        ) { [registry] call in
            let groups = try registry.groups(of: call.query["app"] ?? "")
            return GroupList(groups: groups.map { GroupList.Group(group: $0.name.group, members: $0.members) })
        }
    }

    private var members: APIOperation {
        .onDisk(
            .get("/v1/groups/{group}", for: .scope(.send)),
            .notify,
            "Lists the members of a group, in the order of their keys.",
            [Self.group, Self.app, .query("after", .plain(64), "`next` of the previous response.")]
        ) { [registry] call in
            let after = try call.query["after"].map { text throws(OperationError) in
                try OperatorWords.key(text, "after")
            }
            let found = try registry.members(of: Self.name(call), after: after, limit: Self.page + 1)
            let (shown, last) = found.page(Self.page)
            return GroupMembers(accounts: shown.map(\.hex), next: last?.hex)
        }
    }

    private var change: APIOperation {
        let accounts: JSONValue = [
            "type": "array", "maxItems": .number(Self.maxChanges),
            "items": ["type": "string", "pattern": "^([0-9a-f]{64}|npub1[02-9ac-hj-np-z]{58})$"],
        ]
        let body: JSONValue = [
            "type": "object", "additionalProperties": false,
            "description": "Accounts, as 64 hex digits or npub1….",
            "properties": ["add": accounts, "remove": accounts],
        ]
        return .report(
            .post("/v1/groups/{group}", for: .scope(.send)),
            .notify,
            "Adds users of an app to a group and removes others. Users who left the group are not added again.",
            [Self.group, Self.app],
            body: APIOperation.Body(schema: body, limit: NotifyRequest.longest)
        ) { [registry, apps] call in
            let name = try Self.name(call)
            let apps = apps()
            guard apps.contains(call.query["app"] ?? "") else {
                throw APIError(404, "app: expected an app of the configuration: \(apps.joined(separator: ", "))")
            }
            let object = try RequestObject(call, members: ["add", "remove"])
            let (adding, removing) = (try Self.accounts(object, "add"), try Self.accounts(object, "remove"))
            return try await DiskWork.run {
                GroupChangeReport(try registry.change(name, adding: adding, removing: removing))
            }
        }
    }

    private static func accounts(_ object: RequestObject, _ member: String) throws(APIError) -> [PublicKey] {
        let texts = try object.texts(member) ?? []
        guard texts.count <= maxChanges else {
            throw APIError(400, "\(member): expected at most \(maxChanges) accounts")
        }
        var keys: [PublicKey] = []
        for (number, text) in texts.enumerated() {
            guard let key = PublicKey(hex: text) ?? NIP19.publicKey(npub: text) else {
                throw APIError(400, "\(member)/\(number): expected 64 lowercase hex digits or npub1…")
            }
            keys.append(key)
        }
        return keys
    }

    /// Throws an ``APIError``.
    private static func name(_ call: APICall) throws(APIError) -> GroupName {
        guard let name = GroupName(app: call.query["app"] ?? "", group: call.path("group")) else {
            throw APIError(400, "group: expected 1 to \(GroupName.longest) letters, digits, `.`, `_` and `-`")
        }
        return name
    }
}

/// The groups of an app.
struct GroupList: OperatorAnswer, Equatable {
    struct Group: Codable, Sendable, Equatable {
        var group: String
        var members: Int
    }

    var groups: [Group]

    var text: String { groups.map { "\($0.group)  \($0.members)" }.joined(separator: "\n") }
}

/// The members of a group.
struct GroupMembers: OperatorAnswer, Equatable {
    var accounts: [String]
    /// The value for the parameter `after`; nil on the last page.
    var next: String?

    var text: String { accounts.joined(separator: "\n") }
}

/// The result of changing a group.
struct GroupChangeReport: OperatorAnswer, Equatable {
    var added: Int
    var removed: Int
    /// Users who left the group themselves, and are not added again.
    var left: [String]
    /// Accounts without a device of the app.
    var unknown: [String]
    /// Accounts that are already in the maximum number of groups.
    var full: [String]

    init(_ change: GroupChange) {
        added = change.added
        removed = change.removed
        left = change.left.map(\.hex)
        unknown = change.unknown.map(\.hex)
        full = change.full.map(\.hex)
    }
}
