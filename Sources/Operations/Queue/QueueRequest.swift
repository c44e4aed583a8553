import Delivery
import Foundation
import Notifications
import Units

/// Which deliveries an operator means, and how many of them: from the parameters of a request.
package struct QueueRequest: Sendable, Equatable {
    package static let limitRange = 1...1_000

    var selection = QueueSelection()
    /// The host of the devices' endpoints, where users choose these.
    var host: String?
    var limit = 100
    var cursor = PlacedCursor(.partition(0), .start)
    /// Whether it may mean all deliveries that there are.
    var isForAll = false
    var isDryRun = false
    var unpauses = false

    /// Whether it narrows anything down.
    var isNarrow: Bool {
        !selection.ids.isEmpty || selection.platform != nil || selection.app != nil || selection.device != nil
            || selection.reason != nil || selection.since != nil || selection.until != nil || host != nil
            || selection.isWaitingWanted != selection.isFailedWanted
    }

    /// Throws an ``OperationFailure`` for a parameter that is not known or cannot be read.
    package init(_ parameters: [String: String], now: Timestamp) throws(OperationFailure) {
        for (name, value) in parameters.sorted(by: { $0.key < $1.key }) { try set(name, value, now: now) }
        guard let since = selection.since, let until = selection.until, since >= until else { return }
        throw .invalid("since: expected a time before until")
    }

    private mutating func set(_ name: String, _ value: String, now: Timestamp) throws(OperationFailure) {
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

    /// Throws an ``OperationFailure`` where it means everything and does not say so.
    func requireSelection() throws(OperationFailure) {
        guard !isNarrow, !isForAll else { return }
        throw .invalid("this means every delivery: name some, or say all")
    }

    private static func flag(_ value: String, _ name: String) throws(OperationFailure) -> Bool {
        switch value {
        case "1", "true": return true
        case "0", "false": return false
        default: throw .invalid("\(name): expected 1 or 0")
        }
    }
}

/// Moments as operators write them.
enum OperatorTime {
    /// `2h` is two hours ago; also `90s`, `30m`, `7d`, and `2026-11-22T07:00:00Z` or `2026-11-22`.
    static func moment(_ text: String, _ name: String, now: Timestamp) throws(OperationFailure) -> Timestamp {
        if let span = span(text) { return now - span }
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = text.contains("T") ? .withInternetDateTime : .withFullDate
        guard let date = formatter.date(from: text) else {
            throw .invalid("\(name): expected how long ago, as in 2h, or a time, as in 2026-11-22T07:00:00Z")
        }
        return Timestamp(milliseconds: Int64(date.timeIntervalSince1970 * 1000))
    }

    private static func span(_ text: String) -> Duration? {
        guard let unit = text.last, let number = Int(text.dropLast()), (0...100_000).contains(number) else {
            return nil
        }
        return switch unit {
        case "s": .seconds(number)
        case "m": .minutes(number)
        case "h": .hours(number)
        case "d": .days(number)
        default: nil
        }
    }
}
