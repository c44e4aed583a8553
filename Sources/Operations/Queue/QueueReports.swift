import Core
import Delivery
import Nostr
import Observability
import Push

/// A page of queued and failed deliveries.
package struct QueueList: OperatorAnswer, Equatable {
    package struct Item: Codable, Sendable, Equatable {
        package var id: String
        /// `waiting` or `failed`.
        package var state: String
        package var platform: String
        package var app: String
        package var device: Int64
        /// The delivery's event. `nil` if its mode hides it or the trace does not have it.
        package var event: String?
        /// The content mode; `nil` if the stored delivery cannot be read.
        package var mode: String?
        /// The result of the last failed attempt: `rejected`, `misconfigured` or `retry`.
        package var outcome: String?
        package var status: Int?
        package var reason: String?
        package var attempts: Int
        package var acceptedAt: String
        package var failedAt: String?
        package var dueAt: String?
        package var expiresAt: String?
        /// The delivery's size in the outbox.
        package var bytes: Int
        /// The delivery's partition; `nil` if it has none.
        package var partition: Int?
        /// The member that stores the delivery; `nil` without a cluster.
        package var member: String?
    }

    package var deliveries: [Item]
    /// The cursor for the next page; `nil` at the end.
    package var next: String?
    /// The members asked; `nil` without a cluster.
    package var members: MembersAsked?

    package var text: String {
        let missing = members?.lines ?? []
        guard !deliveries.isEmpty else { return (["no such deliveries"] + missing).joined(separator: "\n") }
        let head = ["ID", "STATE", "QUEUE", "DEVICE", "LAST FAILURE", "ATTEMPTS", "SINCE", "NEXT TRY"]
        let rows = deliveries.map { item in
            [
                item.id, item.state, "\(item.platform)/\(item.app)", "\(item.device)", item.failure ?? "-",
                "\(item.attempts)", Self.short(item.failedAt ?? item.acceptedAt),
                item.dueAt.map(Self.short) ?? (item.failedAt == nil ? "its turn" : "-"),
            ] + (item.member.map { [$0] } ?? [])
        }
        let lines = TextTable.lines([head + (members == nil ? [] : ["MEMBER"])] + rows)
        return (lines + missing + (next.map { ["", "More: --after \($0)"] } ?? [])).joined(separator: "\n")
    }

    private static func short(_ stamp: String) -> String { stamp.second }
}

/// One member's part of a page, in list order.
struct QueuePage: Codable, Sendable {
    struct Entry: Codable, Sendable {
        /// The cursor after this entry.
        var behind: String
        var item: QueueList.Item
    }

    var entries: [Entry]
    /// `nil` at the end.
    var next: String?

    var list: QueueList { QueueList(deliveries: entries.map(\.item), next: next) }
}

extension QueueList {
    /// Joins up to `limit` deliveries of all members. If a member has more pages, entries after its cursor must wait.
    init(together pages: [(member: String, answer: QueuePage)], limit: Int, _ asked: MembersAsked) {
        let bound = pages.compactMap { $0.answer.next.flatMap { PlacedCursor($0) } }.min()
        let all = pages.flatMap { member, page in
            page.entries.compactMap { entry -> (cursor: PlacedCursor, item: Item)? in
                guard let cursor = PlacedCursor(entry.behind) else { return nil }
                var item = entry.item
                item.member = member
                return (cursor, item)
            }
        }
        let known = all.filter { entry in bound.map { entry.cursor <= $0 } ?? true }.sorted { $0.cursor < $1.cursor }
        let shown = known.prefix(limit)
        // Failed deliveries come first within one page.
        let items = shown.map(\.item)
        deliveries = items.filter { $0.state == "failed" } + items.filter { $0.state != "failed" }
        next = known.count > limit ? shown.last.map { "\($0.cursor)" } : bound.map { "\($0)" }
        members = asked
    }
}

extension QueueList.Item {
    init(_ entry: QueueEntry, at place: StorePlace, event: EventID?) {
        id = entry.id.description
        state = entry.failedAt == nil ? "waiting" : "failed"
        platform = entry.queue.platform
        app = entry.queue.app
        device = entry.device.rawValue
        // In stricter modes the outbox stores no event id. The trace must not reveal it.
        self.event = entry.mode == .alert ? event?.hex : nil
        mode = entry.mode?.name
        outcome = entry.failure?.kind.rawValue
        status = entry.failure.flatMap { $0.status == 0 ? nil : Int($0.status) }
        reason = entry.failure?.reason
        attempts = entry.attempts
        acceptedAt = entry.acceptedAt.rfc3339
        failedAt = entry.failedAt.map(\.rfc3339)
        dueAt = entry.due.map(\.rfc3339)
        expiresAt = entry.expiresAt.map(\.rfc3339)
        bytes = entry.size.bytes
        if case .partition(let number) = place { partition = number }
    }

    /// A short description of the last failure.
    var failure: String? {
        outcome.map { outcome in
            let said = ReportWords.said(status ?? 0, reason ?? "", to: outcome)
            return said.isEmpty ? outcome : "\(outcome) (\(said))"
        }
    }
}

/// The details of the deliveries with one id. There are several only while one is sent again.
package struct QueueDetails: OperatorAnswer, Equatable {
    package struct Delivery: Codable, Sendable, Equatable {
        package var item: QueueList.Item
        /// The account of the device; `nil` if the device is no longer registered.
        package var npub: String?
        /// The device's name, chosen by its user.
        package var deviceName: String?
        /// Why the queue is paused, in a sentence; `nil` if it is not paused.
        package var pause: String?
        /// When a failed delivery is deleted at the latest.
        package var keptUntil: String?
    }

    package var deliveries: [Delivery]
    /// The members asked; `nil` without a cluster.
    package var members: MembersAsked?

    package var text: String { (deliveries.map(Self.lines) + (members?.lines ?? [])).joined(separator: "\n\n") }

    /// Returns why no event is shown.
    private static func unknownEvent(_ mode: String?) -> String {
        guard let mode, mode != Mode.alert.name else {
            return "not known: the trace is off, or does not reach back so far"
        }
        return "not shown: \(mode) is a mode that names none"
    }

    private static func lines(_ delivery: Delivery) -> String {
        let item = delivery.item
        let name = delivery.deviceName.map { $0.isEmpty ? "" : "'\($0)' " } ?? ""
        let unowned = item.device < 0 ? "of the sealed ingress" : "no longer registered"
        let owner = delivery.npub.map { "\(name)of \($0)" } ?? unowned
        var rows = [
            ["delivery", item.id], ["state", item.state], ["queue", "\(item.platform)/\(item.app)"],
            ["device", "\(item.device), \(owner)"],
            ["event", item.event ?? unknownEvent(item.mode)], ["mode", item.mode ?? "cannot be read"],
            ["held", "\(item.bytes) bytes"], ["accepted", item.acceptedAt],
            ["attempts", "\(item.attempts)"],
        ]
        if let partition = item.partition { rows.append(["partition", "\(partition)"]) }
        if let member = item.member { rows.append(["member", member]) }
        if let failure = item.failure { rows.append(["last failure", failure]) }
        if let failed = item.failedAt { rows.append(["failed", failed]) }
        if let due = item.dueAt { rows.append(["next try", due]) }
        if let expires = item.expiresAt { rows.append(["expires", expires]) }
        if let kept = delivery.keptUntil { rows.append(["kept until", kept]) }
        if let pause = delivery.pause { rows.append(["pause", pause]) }
        if let event = item.event { rows.append(["its way", "carillon explain \(event)"]) }
        if item.failedAt != nil { rows.append(["send again", "carillon queue retry \(item.id)"]) }
        return TextTable.lines(rows).joined(separator: "\n")
    }
}

/// The result of a retry.
package struct QueueRetry: OperatorAnswer, Equatable {
    package struct Skipped: Codable, Sendable, Equatable {
        /// `expired`, `unregistered`, `deleted` or `unreadable`.
        package var why: String
        package var count: Int
    }

    package var dryRun: Bool
    /// Failed deliveries that were requeued.
    package var retried = 0
    /// Delayed deliveries that are due now.
    package var expedited = 0
    package var skipped: [Skipped] = []
    /// Paused queues that were resumed.
    package var unpaused: [String] = []
    /// Queues that stay paused, and why.
    package var paused: [String] = []
    /// The members asked; `nil` without a cluster.
    package var members: MembersAsked?

    package var text: String {
        let would = dryRun ? "would be " : ""
        var lines = [
            "\(would)sent again: \(retried) that had failed",
            "\(would)due now: \(expedited) that waited for a later time",
        ]
        for skipped in skipped { lines.append("\(skipped.count) left out: \(Self.words(skipped.why))") }
        for queue in unpaused { lines.append("\(queue) \(dryRun ? "would go" : "goes") on: its pause is over") }
        for queue in paused { lines.append("\(queue), so what is in it waits; --unpause ends the pause") }
        lines += members?.lines ?? []
        return lines.joined(separator: "\n")
    }

    mutating func skip(_ why: String, _ count: Int = 1) {
        if let index = skipped.firstIndex(where: { $0.why == why }) {
            skipped[index].count += count
        } else {
            skipped.append(Skipped(why: why, count: count))
        }
    }

    /// Adds another member's result.
    mutating func add(_ other: QueueRetry) {
        retried += other.retried
        expedited += other.expedited
        for skipped in other.skipped { skip(skipped.why, skipped.count) }
        unpaused = Set(unpaused + other.unpaused).sorted()
        paused = Set(paused + other.paused).sorted()
    }

    private static func words(_ why: String) -> String {
        switch why {
        case "expired": "what they tell of is over (expired)"
        case "deleted": "their authors deleted the events that they are for"
        case "unregistered": "their device is no longer registered"
        case "unreadable": "what is kept of them cannot be read"
        default: why
        }
    }
}

/// The result of dropping deliveries.
package struct QueueDropped: OperatorAnswer, Equatable {
    package var dryRun: Bool
    package var waiting = 0
    package var failed = 0
    /// Deliveries that stay because an attempt is in flight.
    package var underWay = 0
    /// The members asked; `nil` without a cluster.
    package var members: MembersAsked?

    package var text: String {
        let words = "\(waiting) that wait and \(failed) that failed"
        var lines = [dryRun ? "would drop \(words)" : "dropped \(words.replacing("wait ", with: "waited "))"]
        if underWay > 0 { lines.append("\(underWay) stay: an attempt is in progress") }
        return (lines + (members?.lines ?? [])).joined(separator: "\n")
    }

    /// Adds another member's result.
    mutating func add(_ other: QueueDropped) {
        waiting += other.waiting
        failed += other.failed
        underWay += other.underWay
    }
}

/// A store of deliveries in the cluster.
package enum StorePlace: Hashable, Comparable, Sendable, LosslessStringConvertible {
    case partition(Int)
    /// A member's store outside the partitions. The name is empty without a cluster.
    case outbox(of: String)

    package static let alone = StorePlace.outbox(of: "")

    package init?(_ description: String) {
        if description.first == "@" {
            self = .outbox(of: String(description.dropFirst()))
        } else if let number = Int(description), number >= 0 {
            self = .partition(number)
        } else {
            return nil
        }
    }

    package var description: String {
        switch self {
        case .partition(let number): "\(number)"
        case .outbox(let member): "@\(member)"
        }
    }
}

/// A delivery store of a running router: its outbox, or a partition that it owns.
package struct WorkingStore: Sendable {
    package let place: StorePlace
    package let courier: Courier
    package let store: any DeliveryStore
    package let reader: OutboxReader

    package init(_ place: StorePlace, _ courier: Courier, _ store: any DeliveryStore, _ reader: OutboxReader) {
        (self.place, self.courier, self.store, self.reader) = (place, courier, store, reader)
    }
}

/// A cursor after a delivery, at which the next page starts.
struct PlacedCursor: Hashable, Sendable, LosslessStringConvertible {
    let place: StorePlace
    let cursor: QueueCursor

    init(_ place: StorePlace, _ cursor: QueueCursor) { (self.place, self.cursor) = (place, cursor) }

    /// The format is `f12` without a cluster, `7.w3` for a partition and `@router-1.f2` for a member's outbox.
    init?(_ description: String) {
        let parts = description.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let last = parts.last, let cursor = QueueCursor(String(last)) else { return nil }
        guard parts.count > 1 else {
            self.init(.alone, cursor)
            return
        }
        guard let place = StorePlace(String(parts[0])) else { return nil }
        self.init(place, cursor)
    }

    var description: String { place == .alone ? cursor.description : "\(place).\(cursor)" }
}

extension PlacedCursor: Comparable {
    /// Sorts by store, then failed before waiting.
    static func < (left: PlacedCursor, right: PlacedCursor) -> Bool {
        (left.place, left.cursor) < (right.place, right.cursor)
    }
}
