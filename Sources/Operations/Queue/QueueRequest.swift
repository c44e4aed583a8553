import Console
import Core
import Delivery
import Foundation
import Logging
import Observability
import Push
import RouterConfiguration
import Rules

/// A selection of deliveries from the parameters of a request.
package struct QueueRequest: Sendable, Equatable {
    package static let limitRange = 1...1_000

    var selection = QueueSelection()
    /// The host of the devices' endpoints, if users choose the endpoint.
    var host: String?
    var limit = 100
    var cursor = PlacedCursor(.partition(0), .start)
    /// Whether the request may select all deliveries.
    var isForAll = false
    var isDryRun = false
    var unpauses = false

    /// Whether the request has any filter.
    var isNarrow: Bool {
        !selection.ids.isEmpty || selection.platform != nil || selection.app != nil || selection.device != nil
            || selection.reason != nil || selection.since != nil || selection.until != nil || host != nil
            || selection.isWaitingWanted != selection.isFailedWanted
    }

    /// Throws an ``OperationError`` for an unknown or invalid parameter.
    package init(_ parameters: [String: String], now: Timestamp) throws(OperationError) {
        for (name, value) in parameters.sorted(by: { $0.key < $1.key }) { try set(name, value, now: now) }
        guard let since = selection.since, let until = selection.until, since >= until else { return }
        throw .invalid("since: expected a time before until")
    }

    private mutating func set(_ name: String, _ value: String, now: Timestamp) throws(OperationError) {
        switch name {
        case "id": selection.ids = value.lowercased().split(separator: ",").map(String.init)
        case "platform": selection.platform = value
        case "app": selection.app = value
        case "host": host = value.lowercased()
        case "reason": selection.reason = value
        case "after":
            guard let after = PlacedCursor(value) else { throw .invalid("after: expected next of an answer") }
            cursor = after
        case "device":
            guard let number = Int64(value) else { throw .invalid("device: expected its number") }
            selection.device = DeviceID(rawValue: number)
        case "limit":
            guard let number = Int(value), Self.limitRange.contains(number) else {
                throw .invalid("limit: expected a number from 1 to \(Self.limitRange.upperBound)")
            }
            limit = number
        case "since": selection.since = try OperatorTime.moment(value, name, now: now)
        case "until": selection.until = try OperatorTime.moment(value, name, now: now)
        case "state":
            guard value == "waiting" || value == "failed" else { throw .invalid("state: expected waiting or failed") }
            (selection.isWaitingWanted, selection.isFailedWanted) = (value == "waiting", value == "failed")
        case "all": isForAll = try Self.flag(value, name)
        case "dry_run": isDryRun = try Self.flag(value, name)
        case "unpause": unpauses = try Self.flag(value, name)
        default:
            throw .invalid(
                "\(name): expected after, all, app, device, dry_run, host, id, limit, platform, reason, since, state, "
                    + "unpause or until"
            )
        }
    }

    /// Throws an ``OperationError`` if the request selects all deliveries without `all`.
    func requireSelection() throws(OperationError) {
        guard !isNarrow, !isForAll else { return }
        throw .invalid("this means every delivery: name some, or say all")
    }

    private static func flag(_ value: String, _ name: String) throws(OperationError) -> Bool {
        switch value {
        case "1", "true": return true
        case "0", "false": return false
        default: throw .invalid("\(name): expected 1 or 0")
        }
    }
}

/// A parser for times in requests.
enum OperatorTime {
    /// Parses `2h` (two hours ago), likewise `90s`, `30m` and `7d`, or `2026-11-22T07:00:00Z` or `2026-11-22`.
    static func moment(_ text: String, _ name: String, now: Timestamp) throws(OperationError) -> Timestamp {
        if let span = Duration(written: text) { return now - span }
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = text.contains("T") ? .withInternetDateTime : .withFullDate
        guard let date = formatter.date(from: text) else {
            throw .invalid("\(name): expected how long ago, as in 2h, or a time, as in 2026-11-22T07:00:00Z")
        }
        return Timestamp(milliseconds: Int64(date.timeIntervalSince1970 * 1000))
    }
}

/// Queue requests to the running router, or to the files of a stopped one.
extension RouterOrFiles {
    /// Throws an ``OperationError``, like all methods below.
    package func queue(_ parameters: [String: String]) async throws -> QueueList {
        if let answer: QueueList = try await ask("GET", "/v1/queue", parameters) { return answer }
        return try deliveries().list(parameters)
    }

    package func delivery(_ id: String) async throws -> QueueDetails {
        let name = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["-"])) ?? ""
        if let answer: QueueDetails = try await ask("GET", "/v1/queue/\(name)", [:]) { return answer }
        return try deliveries().show(id)
    }

    package func retry(_ parameters: [String: String]) async throws -> QueueRetry {
        try await require("POST", "/v1/queue/retry", parameters, toDo: "send pushes again")
    }

    package func drop(_ parameters: [String: String]) async throws -> QueueDropped {
        if let answer: QueueDropped = try await ask("POST", "/v1/queue/drop", parameters) { return answer }
        let access = try files()
        guard FileManager.default.fileExists(atPath: configuration.store.outboxPath) else {
            return QueueDropped(dryRun: parameters["dry_run"] == "1")
        }
        let outbox = try Outbox(path: configuration.store.outboxPath, deadLetters: configuration.deadLetters)
        let logger = Logger(label: "carillon.queue") { _ in SwiftLogNoOpLogHandler() }
        let trace = configuration.trace.map {
            TraceStore(path: configuration.store.tracePath, limits: $0, now: Timestamp.now, logger: logger)
        }
        // The files stay locked until all writes are done.
        defer {
            withExtendedLifetime(access) {
                trace?.close()
                outbox.settle()
            }
        }
        return try await QueueOperations(access.reader, .stopped(outbox, trace)).drop(parameters)
    }

    private func deliveries() throws -> QueueOperations {
        guard FileManager.default.fileExists(atPath: configuration.store.outboxPath) else {
            throw OperationError.unreachable("there is no outbox yet: carillon serve makes it when it starts")
        }
        return QueueOperations(try OperatorAccess(configuration, for: .reading).reader, .readOnly)
    }
}

/// The API of queued and failed deliveries.
struct QueueAPI {
    let view: MemberView

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
        .query("state", .choice(["waiting", "failed"]), "Only those in that state."),
    ]
    private static let change: [APIParameter] =
        selection + [
            .query("all", .flag, "Select all of them. Required if no other parameter selects."),
            .query("dry_run", .flag, "Only count them."),
        ]

    private var list: APIOperation {
        .report(
            .get("/v1/queue"),
            .queue,
            "Deliveries that wait or failed permanently.",
            Self.selection + [
                .query("after", .text(200), "`next` of the answer before."),
                .query("limit", .integer(1...1_000), "How many at most; 100."),
            ]
        ) { [view] call in try await view.queue(call.query) }
    }

    private var show: APIOperation {
        .report(
            .get("/v1/queue/{id}"),
            .queue,
            "All that is known of a delivery.",
            [.path("id", .plain(100), "A delivery's id.")]
        ) { [view] call in try await view.delivery(call.path("id")) }
    }

    private var retry: APIOperation {
        .report(
            .post("/v1/queue/retry"),
            .queue,
            "Resends failed deliveries, and makes waiting deliveries due immediately.",
            Self.change + [.query("unpause", .flag, "End the pauses of their queues.")]
        ) { [view] call in try await view.retry(call.query) }
    }

    private var drop: APIOperation {
        .report(.post("/v1/queue/drop"), .queue, "Drops deliveries that wait or failed.", Self.change) { [view] call in
            try await view.drop(call.query)
        }
    }
}
