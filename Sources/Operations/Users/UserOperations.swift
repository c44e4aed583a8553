import Console
import Core
import Nostr
import Observability
import Push
import Registry
import Relays
import RouterConfiguration

/// The operators' requests on users. The router's API and the commands on files share them. Callable from any thread
/// that may block, because it reads files.
package final class UserOperations: Sendable {
    /// The maximum number of users on a page.
    package static let page = 1_000
    /// The maximum length of a reason.
    private static let longestReason = 200
    private static let longestSpan: Duration = .days(3_650)

    let devices: DeviceOperations
    private let limits: RegistrationPolicy.Limits
    /// The operator's relays, which cannot be blocked by command.
    private let ownRelays: Set<RelayURL>

    package init(_ devices: DeviceOperations) {
        self.devices = devices
        let configuration = devices.reader.configuration()
        limits = configuration.relay.registrations
        ownRelays = Set(configuration.relays.always + configuration.relays.nip46 + configuration.relays.publish)
    }

    private var registry: Registry { devices.reader.registry }

    /// The filters of a user list, as entered.
    package struct Query: Sendable, Equatable {
        package var platform: String?
        package var app: String?
        package var isBlocked = false
        /// A key, as 64 hex digits or npub1….
        package var after: String?
        package var limit: Int?

        package init(
            platform: String? = nil,
            app: String? = nil,
            isBlocked: Bool = false,
            after: String? = nil,
            limit: Int? = nil
        ) {
            self.platform = platform
            self.app = app
            self.isBlocked = isBlocked
            self.after = after
            self.limit = limit
        }
    }

    /// Throws an ``OperationError``.
    package func list(_ query: Query) throws(OperationError) -> UserList {
        let after = try query.after.map { text throws(OperationError) in try OperatorWords.key(text, "after") }
        let limit = min(max(1, query.limit ?? Self.page), Self.page)
        let found = try OperationError.attempt {
            try registry.users(
                UserQuery(
                    platform: query.platform,
                    app: query.app,
                    isBlocked: query.isBlocked,
                    after: after,
                    limit: limit + 1
                )
            )
        }
        let (shown, last) = found.page(limit)
        let pushes = lastPushes(to: shown.flatMap(\.devices))
        return UserList(users: shown.map { report($0, pushes) }, next: last?.account.hex)
    }

    /// `key` is 64 hex digits or npub1…. Throws an ``OperationError`` if it is unknown.
    package func show(_ key: String) throws(OperationError) -> UserOverview {
        let key = try OperatorWords.key(key, "the user")
        let user = try OperationError.attempt { try registry.user(key) }
        let rules = registry.access.rules(about: key)
        guard !user.devices.isEmpty || !rules.isEmpty || registry.access.isBlocked(key) else {
            throw .unknown("this key has no devices here, and no rule is about it")
        }
        return UserOverview(
            user: report(user, lastPushes(to: user.devices)),
            devices: try devices.list(account: key.hex).devices,
            relays: try OperationError.attempt { try registry.relaysWatched(for: key) },
            rules: rules.map { AccessRuleReport($0) },
            deviceLimit: limits.devicesPerAccount,
            registrationsPerHour: limits.registrationsPerKeyPerHour
        )
    }

    package var rules: AccessReport { AccessReport(registry.access) }

    /// Applies an operator's decision. It is active when this returns. Throws an ``OperationError``.
    package func decide(_ request: AccessRequest) throws(OperationError) -> AccessAnswer {
        let subject = try request.meaning()
        switch request.verb {
        case .block: return try put(request, subject, isBlock: true)
        case .allow:
            if case .relay = subject {
                throw .invalid("relays need no leave: carillon relays unblock takes a block back")
            }
            return try put(request, subject, isBlock: false)
        case .unblock, .disallow: return try remove(request, subject)
        }
    }

    private func put(
        _ request: AccessRequest,
        _ subject: AccessSubject,
        isBlock: Bool
    ) throws(OperationError) -> AccessAnswer {
        if let span = request.span, !(.seconds(1)...Self.longestSpan).contains(span) {
            throw .invalid("until: expected a time from a second to ten years, as in 90m, 12h or 30d")
        }
        guard request.reason.unicodeScalars.count <= Self.longestReason,
            !request.reason.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
        else { throw .invalid("reason: expected one line of at most \(Self.longestReason) characters") }
        if case .relay(let text) = subject, isBlock, let relay = RelayURL(text), ownRelays.contains(relay) {
            throw .invalid(
                Sentence(
                    "own-relay",
                    ["relay": text],
                    "\(text) is a relay of the configuration (relays:): take it out there, and restart"
                )
            )
        }
        let now = devices.reader.now()
        let rule = AccessRule(
            subject,
            isBlock: isBlock,
            reason: request.reason,
            madeAt: now,
            until: request.span.map { now + $0 }
        )
        let before = out(of: subject)
        try OperationError.attempt { try registry.put(rule) }
        var answer = AccessAnswer(
            rule: AccessRuleReport(rule),
            isInForce: true,
            devices: isBlock ? try affected(by: subject) : 0
        )
        if !isBlock, case .key(let key) = subject, registry.access.isBlocked(key) {
            answer.notes.append("It stays blocked because of another rule: carillon users rules shows all of them")
        }
        if !isBlock, before, answer.notes.isEmpty { answer.notes.append("It is no longer blocked") }
        return answer
    }

    private func remove(_ request: AccessRequest, _ subject: AccessSubject) throws(OperationError) -> AccessAnswer {
        let isBlock = request.verb == .unblock
        let word = isBlock ? "blocked" : "allowed"
        let known = registry.access.rules.filter { $0.subject == subject && $0.isBlock == isBlock }
        guard known.contains(where: { !$0.isConfigured }) else {
            throw .unknown(
                known.isEmpty
                    ? Sentence("no-\(word)", "it is not \(word); carillon users rules shows what is")
                    : Sentence(
                        "configured-access",
                        "the rule is in the configuration (access:): change it there, and run carillon reload"
                    )
            )
        }
        guard let rule = try OperationError.attempt({ try registry.removeRule(about: subject) }) else {
            throw .unknown(Sentence("no-\(word)", "it is no longer \(word)"))
        }
        var answer = AccessAnswer(rule: AccessRuleReport(rule), isInForce: false, devices: 0)
        if out(of: subject) {
            answer.notes.append("It stays blocked because of another rule: carillon users rules shows all of them")
        } else if isBlock {
            answer.devices = try affected(by: subject)
        }
        return answer
    }

    /// Whether the subject is a key that is currently blocked.
    private func out(of subject: AccessSubject) -> Bool {
        guard case .key(let key) = subject else { return false }
        return registry.access.isBlocked(key)
    }

    private func affected(by subject: AccessSubject) throws(OperationError) -> Int {
        guard case .key(let key) = subject else { return 0 }
        return try OperationError.attempt { try registry.user(key).devices.count }
    }

    private func report(_ user: UserListing, _ pushes: [DeviceID: Timestamp]) -> UserReport {
        UserReport(
            user,
            lastPush: user.devices.compactMap { pushes[$0] }.max(),
            isBlocked: registry.access.isBlocked(user.account)
        )
    }

    /// Returns no times if the trace is missing, so that users are still shown.
    private func lastPushes(to devices: [DeviceID]) -> [DeviceID: Timestamp] {
        guard let statuses = try? self.devices.reader.files.trace?.reader.statuses(of: devices) else { return [:] }
        return statuses.compactMapValues { $0.lastSuccess?.at }
    }
}

extension UserOperations.Query {
    /// Parses an API request. Throws an ``OperationError`` if it is invalid.
    init(_ parameters: [String: String]) throws(OperationError) {
        self.init(
            platform: parameters["platform"],
            app: parameters["app"],
            isBlocked: parameters["blocked"] == "true",
            after: parameters["after"],
            limit: try parameters["limit"].map { text throws(OperationError) in
                guard let limit = Int(text), limit > 0 else { throw .invalid("limit: expected a number from 1 on") }
                return limit
            }
        )
    }
}

/// A summary of an account and its devices.
package struct UserReport: Codable, Sendable, Equatable {
    package var account: String
    package var npub: String
    package var devices: Int
    /// As `platform/app`, sorted.
    package var platforms: [String]
    package var firstRegistered: String?
    package var lastRegistered: String?
    /// The last push that a push service accepted; `nil` if the trace has none.
    package var lastPush: String?
    package var isBlocked: Bool

    init(_ user: UserListing, lastPush: Timestamp?, isBlocked: Bool) {
        account = user.account.hex
        npub = NIP19.npub(user.account)
        devices = user.devices.count
        platforms = user.routes.map { "\($0.platform)/\($0.app)" }.sorted()
        firstRegistered = user.firstRegisteredAt.map(\.rfc3339)
        lastRegistered = user.lastRegisteredAt.map(\.rfc3339)
        self.lastPush = lastPush.map(\.rfc3339)
        self.isBlocked = isBlocked
    }

    fileprivate var row: [String] {
        [
            npub, "\(devices)", platforms.isEmpty ? "-" : platforms.joined(separator: ","), Self.day(firstRegistered),
            lastRegistered.minute, lastPush.minute, isBlocked ? "blocked" : "",
        ]
    }

    private static func day(_ stamp: String?) -> String { stamp.map { String($0.prefix(10)) } ?? "-" }

}

/// A page of accounts, sorted by key.
package struct UserList: OperatorAnswer, Equatable {
    package var users: [UserReport]
    /// The last key of this page, from which the next one continues; `nil` at the end.
    package var next: String?

    package init(users: [UserReport], next: String?) {
        self.users = users
        self.next = next
    }

    package var text: String { users.isEmpty ? "no users" : table(withHead: true) }

    package func table(withHead: Bool) -> String {
        let head = ["ACCOUNT", "DEVICES", "PLATFORMS", "FIRST", "LAST REGISTERED", "LAST PUSH", ""]
        return TextTable.lines((withHead ? [head] : []) + users.map(\.row)).joined(separator: "\n")
    }
}

/// The details of one account, without tokens.
package struct UserOverview: OperatorAnswer, Equatable {
    package var user: UserReport
    package var devices: [DeviceOverview]
    /// The relays that the router reads for the account.
    package var relays: [String]
    package var rules: [AccessRuleReport]
    /// The maximum number of devices.
    package var deviceLimit: Int
    /// The maximum number of registrations that one key may sign in an hour.
    package var registrationsPerHour: Int
    /// The members asked; `nil` without a cluster.
    package var members: MembersAsked?

    package var text: String {
        var lines = [
            "account     \(user.npub)", "            \(user.account)",
            "devices     \(user.devices) of at most \(deviceLimit)",
            "registered  first \(user.firstRegistered.minute), last \(user.lastRegistered.minute); "
                + "at most \(registrationsPerHour) times per hour",
            "last push   \(user.lastPush.minute)",
            "state       \(user.isBlocked ? "blocked: it is sent nothing and cannot register" : "in use")",
        ]
        lines += rules.map { "rule        \($0.text)" }
        lines += relays.isEmpty ? ["relays      none"] : relays.map { "relay       \($0)" }
        if !devices.isEmpty { lines += ["", DeviceList(devices: devices).table(withHead: true)] }
        if let members { lines += members.lines }
        return lines.joined(separator: "\n")
    }
}
