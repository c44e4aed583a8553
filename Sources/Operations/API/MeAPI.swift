import Console
import Core
import JSON
import Nostr
import Registry
import Rules
import Synchronization

/// Endpoints for an account's own data. The account signs its requests (NIP-98).
struct MeAPI {
    private static let device = APIParameter.path("device", .text(16), "The id of one of your devices.")
    private static let wishes: JSONValue = [
        "type": "object", "additionalProperties": false,
        "description": "As in the content of a registration; null removes a preference.",
        "properties": .members(
            PreferenceChange.members.map { name in (key: name, value: [:] as JSONValue) }
        ),
    ]

    private let view: MemberView
    private let own: OwnOperations
    private let rates: OwnRates

    init(_ view: MemberView, now: @escaping @Sendable () -> Timestamp) {
        (self.view, own) = (view, view.own)
        rates = OwnRates(now: now)
    }

    var operations: [APIOperation] { [report, event, test, change, remove, enter, leave] }

    private var report: APIOperation {
        .report(
            .get("/v1/me", for: .owner),
            .me,
            "Returns your registrations, the effective settings, the results of your last events, and waiting pushes."
        ) { [view, rates] call in
            let key = try rates.admit(.looks, call)
            return try await view.ownReport(of: key)
        }
    }

    private var event: APIOperation {
        .report(
            .get("/v1/me/events/{event}", for: .owner),
            .me,
            "Explains the results of one event for you: the decision of each stage.",
            [.path("event", .text(1_000), "64 hex digits, note1… or nevent1…, or a link with one.")]
        ) { [view, rates] call in
            let key = try rates.admit(.looks, call)
            return try await view.ownEvent(call.path("event"), of: key)
        }
    }

    private var test: APIOperation {
        .report(
            .post("/v1/me/devices/{device}/test", for: .owner),
            .me,
            "Sends a test push to one of your devices, and returns the push service's response.",
            [
                Self.device,
                .query("mode", .choice(["wake", "nudge", "sealed", "alert"]), "Default: the device's own mode."),
            ]
        ) { [own, rates] call in
            let key = try rates.admit(.tests, call)
            return try await own.test(call.path("device"), of: key, mode: call.query["mode"])
        }
    }

    private var change: APIOperation {
        .report(
            .patch("/v1/me/devices/{device}", for: .owner),
            .me,
            "Changes the preferences of one of your devices until its app registers it again.",
            [Self.device],
            body: APIOperation.Body(schema: Self.wishes)
        ) { [view, rates] call in
            let key = try rates.admit(.changes, call)
            let wishes = try RequestObject(call, members: PreferenceChange.members).object
            return try await view.changeOwn(call.path("device"), of: key, by: wishes)
        }
    }

    private var enter: APIOperation {
        group(.post, "Adds you to an existing group of an app.") { [own] in try own.enter($0, $1) }
    }

    private var leave: APIOperation {
        group(.delete, "Removes you. Senders cannot add you again.") { [own] in try own.leave($0, $1) }
    }

    private func group(
        _ method: APIEndpoint.Method,
        _ summary: String,
        _ body: @escaping @Sendable (GroupName, PublicKey) throws -> OwnGroups
    ) -> APIOperation {
        .report(
            APIOperation.Route(method: method, path: "/v1/me/groups/{app}/{group}", access: .owner),
            .me,
            summary,
            [.path("app", .text(64), "The app's name."), .path("group", .text(GroupName.longest), "The group's name.")]
        ) { [rates] call in
            let key = try rates.admit(.changes, call)
            guard let name = GroupName(app: call.path("app"), group: call.path("group")) else {
                throw APIError(404, Sentence("no-group", "there is no such group"))
            }
            return try await DiskWork.run { try body(name, key) }
        }
    }

    private var remove: APIOperation {
        .report(
            .delete("/v1/me/devices/{device}", for: .owner),
            .me,
            "Forgets one of your devices until its app registers it again.",
            [Self.device]
        ) { [own, rates] call in
            let key = try rates.admit(.changes, call)
            return try await DiskWork.run { try own.remove(call.path("device"), of: key) }
        }
    }
}

/// Rate limits of each account for reads, tests and changes.
private final class OwnRates: Sendable {
    enum Kind: Hashable {
        case looks, tests, changes
    }

    private struct Place: Hashable, Sendable {
        let kind: Kind
        let key: PublicKey
    }

    private struct State {
        var often = RateTable<Place>(burst: 20, perSecond: 1, capacity: 20_000)
        /// For tests, which send a push, and for changes, which write to disk.
        var seldom = RateTable<Place>(burst: 5, perSecond: 0.1, capacity: 20_000)
    }

    private let now: @Sendable () -> Timestamp
    private let state = Mutex(State())

    init(now: @escaping @Sendable () -> Timestamp) {
        self.now = now
    }

    /// Returns the account that signed the request.
    func admit(_ kind: Kind, _ call: APICall) throws(APIError) -> PublicKey {
        guard let key = PublicKey(hex: try call.owner) else { throw APIError(401, "expected a signed request") }
        let place = Place(kind: kind, key: key)
        let pause: Duration? = state.withLock { state in
            if kind == .looks {
                state.often.take(place, now: now()) ? nil : state.often.pause
            } else {
                state.seldom.take(place, now: now()) ? nil : state.seldom.pause
            }
        }
        if let pause {
            throw APIError(429, "too many requests: wait \(pause.seconds) s", retryAfter: pause.seconds)
        }
        return key
    }
}
