import Console
import Core
import Nostr
import Observability

/// A request for the events that a member keeps.
struct KeptEventsQuestion: Codable, Sendable, Equatable {
    /// In milliseconds since 1970.
    var since: Int64
    /// Each member's cursor from the previous page; `nil` for the first page.
    var before: [String: Int64]?
}

/// A page of kept events as members exchange it.
struct KeptEventsPage: Codable, Sendable, Equatable {
    struct Event: Codable, Sendable, Equatable {
        /// In milliseconds since 1970.
        var time: Int64
        var json: String
        /// In hexadecimal digits.
        var accounts: [String]
    }

    var events: [Event] = []
    /// The cursor for the next page; `nil` at the end.
    var next: Int64?

    init() {}

    init(_ page: KeptEventsReader.Page) {
        events = page.events.map { kept in
            Event(
                time: kept.time.milliseconds,
                json: String(decoding: kept.event.json, as: UTF8.self),
                accounts: kept.accounts.map(\.hex)
            )
        }
        next = page.next
    }

    /// The events without invalid ones.
    var kept: [KeptEvent] {
        events.compactMap { wire in
            guard let event = try? Nostr.Event(json: Array(wire.json.utf8)) else { return nil }
            let accounts = wire.accounts.compactMap { PublicKey(hex: $0) }
            return KeptEvent(time: Timestamp(milliseconds: wire.time), event: event, accounts: accounts)
        }
    }
}

/// The events that this router and all members keep for trying rules.
///
/// Every member has the whole registry, so the router that is asked tries the rules. It fetches the other members'
/// events in pages.
package struct KeptEventPages: Sendable {
    /// The maximum number of a member's events; the newest are used.
    private static let most = 5_000
    /// The size of a page in bytes of events. JSON inside JSON takes up to twice as much.
    private static let bytesAtATime = 400_000
    private static let maxPages = 40

    private let kept: KeptEvents?
    private let path: String
    private let now: @Sendable () -> Timestamp
    /// `nil` without a cluster.
    private let pages: MemberQuestion<KeptEventsQuestion, KeptEventsPage>?

    /// `kept` is `nil` if no events are kept.
    package init(
        _ kept: KeptEvents?,
        path: String,
        _ survey: MemberSurvey,
        now: @escaping @Sendable () -> Timestamp
    ) {
        (self.kept, self.path, self.now) = (kept, path, now)
        pages = survey.peers.map { peers in
            survey.question("kept-events") { [member = peers.name] question in
                try await Self.page(question, of: kept, at: path, member, now: now)
            }
        }
    }

    /// Returns the events since a time, newest first, without duplicates. Throws an ``OperationError`` if no member
    /// keeps events.
    func events(since time: Timestamp) async throws -> (events: [KeptEvent], asked: MembersAsked?) {
        guard let pages else {
            guard kept != nil else { throw Self.nothing }
            return (try await DiskWork.run { try whole(since: time) }, nil)
        }
        var (found, asked): ([EventID: KeptEvent], MembersAsked?) = ([:], nil)
        var (question, counts) = (KeptEventsQuestion(since: time.milliseconds), [String: Int]())
        for _ in 0..<Self.maxPages {
            let (current, isFirst) = (question, question.before == nil)
            let result = try await pages.ask(current)
            asked = asked.map { $0.and(result.asked) } ?? result.asked
            var before: [String: Int64] = [:]
            for (member, page) in result.answers where isFirst || current.before?[member] != nil {
                for event in page.kept { Self.add(event, to: &found) }
                counts[member, default: 0] += page.events.count
                if let next = page.next, counts[member, default: 0] < Self.most { before[member] = next }
            }
            guard !before.isEmpty else { break }
            question.before = before
        }
        let events = found.values.sorted { ($0.time, $0.event.id.hex) > ($1.time, $1.event.id.hex) }
        return (Array(events.prefix(Self.most)), asked)
    }

    /// Adds an event. If it concerns accounts of several members, they are merged into one event.
    private static func add(_ event: KeptEvent, to found: inout [EventID: KeptEvent]) {
        guard var known = found[event.event.id] else {
            found[event.event.id] = event
            return
        }
        known.time = min(known.time, event.time)
        known.accounts += event.accounts.filter { !known.accounts.contains($0) }
        found[event.event.id] = known
    }

    private func whole(since time: Timestamp) throws -> [KeptEvent] {
        kept?.flush()
        return try KeptEventsReader(path: path).page(since: time, at: now(), limit: Self.most).events
    }

    /// Returns a page of one member's events. Throws an ``OperationError`` if it keeps none.
    private static func page(
        _ question: KeptEventsQuestion,
        of kept: KeptEvents?,
        at path: String,
        _ member: String,
        now: @escaping @Sendable () -> Timestamp
    ) async throws -> KeptEventsPage {
        guard let kept else { throw nothing }
        let before = question.before?[member]
        // This member has sent all its events, but others have more.
        if question.before != nil, before == nil { return KeptEventsPage() }
        return try await DiskWork.run {
            if before == nil { kept.flush() }
            return KeptEventsPage(
                try KeptEventsReader(path: path).page(
                    since: Timestamp(milliseconds: question.since),
                    at: now(),
                    before: before ?? .max,
                    limit: most,
                    bytes: bytesAtATime
                )
            )
        }
    }

    private static let nothing = OperationError.unavailable(
        Sentence(
            "no-kept-events",
            "no events are kept to try rules on: say trace: { keep_events_hours: 24 } in the configuration, and restart"
        )
    )
}
