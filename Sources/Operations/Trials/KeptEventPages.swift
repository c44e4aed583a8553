import Console
import Core
import Nostr
import Observability

/// Asks a member for the events that it keeps.
struct KeptEventsQuestion: Codable, Sendable, Equatable {
    /// In milliseconds since 1970.
    var since: Int64
    /// Where each member's page before ended; nil: these are the first.
    var before: [String: Int64]?
}

/// Events that a member keeps, on their way.
struct KeptEventsPage: Codable, Sendable, Equatable {
    struct Event: Codable, Sendable, Equatable {
        /// In milliseconds since 1970.
        var time: Int64
        var json: String
        /// In hexadecimal digits.
        var accounts: [String]
    }

    var events: [Event] = []
    /// Where the next page begins; nil: there is none.
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

    /// Without what cannot be read.
    var kept: [KeptEvent] {
        events.compactMap { wire in
            guard let event = try? Nostr.Event(json: Array(wire.json.utf8)) else { return nil }
            let accounts = wire.accounts.compactMap { PublicKey(hex: $0) }
            return KeptEvent(time: Timestamp(milliseconds: wire.time), event: event, accounts: accounts)
        }
    }
}

/// The events that are kept for trying rules on: here, and at all members.
///
/// Rules are tried where somebody asks, since every member has the whole registry; what the others keep is fetched for
/// that, some at a time.
package struct KeptEventPages: Sendable {
    /// How many events of a member are looked at; the newest.
    private static let most = 5_000
    /// Bytes of events that a member says at a time. In JSON within JSON they take up to twice as much.
    private static let bytesAtATime = 400_000
    private static let mostPages = 40

    private let kept: KeptEvents?
    private let path: String
    private let now: @Sendable () -> Timestamp
    /// Nil: the router serves alone.
    private let pages: MemberQuestion<KeptEventsQuestion, KeptEventsPage>?

    /// `kept` is nil where no events are kept.
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

    /// The newest events since a time, the newest first, each once. Throws an ``OperationFailure`` where nobody keeps
    /// any.
    func events(since time: Timestamp) async throws -> (events: [KeptEvent], asked: MembersAsked?) {
        guard let pages else {
            guard kept != nil else { throw Self.nothing }
            return (try await DiskWork.run { try whole(since: time) }, nil)
        }
        var (found, asked): ([EventID: KeptEvent], MembersAsked?) = ([:], nil)
        var (question, counts) = (KeptEventsQuestion(since: time.milliseconds), [String: Int]())
        for _ in 0..<Self.mostPages {
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

    /// An event that concerns accounts of several members is one.
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

    /// The events of one member. Throws an ``OperationFailure`` where it keeps nothing.
    private static func page(
        _ question: KeptEventsQuestion,
        of kept: KeptEvents?,
        at path: String,
        _ member: String,
        now: @escaping @Sendable () -> Timestamp
    ) async throws -> KeptEventsPage {
        guard let kept else { throw nothing }
        let before = question.before?[member]
        // Others have more, and this one has said everything.
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

    private static let nothing = OperationFailure.unavailable(
        Sentence(
            "no-kept-events",
            "no events are kept to try rules on: say trace: { keep_events_hours: 24 } in the configuration, and restart"
        )
    )
}
