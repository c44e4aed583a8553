import Core
import Delivery
import Nostr
import Push

/// The other members of the cluster, as the live stream reaches them.
package protocol LivePeers: Sendable {
    /// The name of this member.
    var name: String { get }

    /// The other members, including those that disappeared without notice.
    var others: [String] { get }

    /// Sends a message to a member, without a delivery guarantee.
    func tell(_ bytes: [UInt8], to member: String)
}

/// Shares live entries between members, so that a reader sees those of all. Uses no clock, lock or connection itself.
///
/// A member with readers repeatedly sends their filters to the others. While they receive these, they send entries and
/// heartbeats. There are no retries: a lost message becomes a gap for the reader.
struct LiveSharing {
    struct Limits: Sendable {
        /// The limit of bytes in one frame to another member.
        var bytesAtATime = 64 << 10
        /// The limit of filters that a member sends; with more, it requests all entries.
        var filters = 16
        /// The interval of filters and heartbeats.
        var renewal: Duration = .seconds(3)
        /// The timeout after which a member counts as gone, or as having no readers.
        var timeout: Duration = .seconds(10)
    }

    struct Message: Sendable, Equatable {
        let member: String
        let bytes: [UInt8]
    }

    /// Content of a message from another member.
    struct News {
        var entries: [LiveEntry] = []
        var gaps: [LiveGap] = []
    }

    /// A member that has readers.
    private struct Audience {
        var filters: [LiveFilter]
        var until: Deadline
        var frame: UInt64 = 0
        var sentAt: Deadline
    }

    /// A member that must send its entries.
    private struct Source {
        var heardAt: Deadline
        var frame: UInt64?
        var isSilent = false
    }

    private let name: String
    private let limits: Limits
    private var audiences: [String: Audience] = [:]
    private var sources: [String: Source] = [:]
    private var told: Set<LiveFilter>?
    private var tellAt = Deadline.distantPast

    init(_ name: String, _ limits: Limits = Limits()) { (self.name, self.limits) = (name, limits) }

    /// Whether another member has readers.
    var hasAudience: Bool { !audiences.isEmpty }
    var needsQueues: Bool { audiences.values.contains { $0.filters.contains(where: \.needsQueue) } }
    var needsAccounts: Bool { audiences.values.contains { $0.filters.contains { $0.account != nil } } }

    /// Processes a message of another member. Nil if it is invalid or from another version.
    mutating func receive(_ bytes: [UInt8], now: Deadline) -> News? {
        if let interest = LiveInterest(bytes) {
            guard !interest.filters.isEmpty else {
                audiences[interest.member] = nil
                return News()
            }
            var audience = audiences[interest.member] ?? Audience(filters: [], until: now, sentAt: .distantPast)
            (audience.filters, audience.until) = (interest.filters, now + limits.timeout)
            audiences[interest.member] = audience
            return News()
        }
        guard let frame = LiveFrame(bytes) else { return nil }
        // There are no readers here.
        guard let source = sources[frame.member] else { return News() }
        sources[frame.member] = Source(heardAt: now, frame: frame.number)
        var news = News(entries: frame.entries)
        if frame.lost > 0 { news.gaps.append(LiveGap(cause: .slow, count: frame.lost, member: frame.member)) }
        // The member restarted, or a frame was lost.
        if let last = source.frame, frame.number != last &+ 1, !source.isSilent {
            news.gaps.append(LiveGap(cause: .member, count: nil, member: frame.member))
        }
        return news
    }

    /// Returns the messages that are due. `filters` are those of the local readers.
    mutating func round(_ filters: Set<LiveFilter>, others: [String], now: Deadline) -> ([Message], gaps: [LiveGap]) {
        audiences = audiences.filter { now < $0.value.until }
        var messages: [Message] = []
        for (member, audience) in audiences where now - audience.sentAt >= limits.renewal {
            messages.append(frame(for: member, [], lost: 0, now))
        }
        guard !filters.isEmpty || told != nil else { return (messages, []) }
        for member in others where sources[member] == nil { sources[member] = Source(heardAt: now) }
        sources = sources.filter { others.contains($0.key) }
        if told != filters || now >= tellAt {
            let bytes = LiveInterest(member: name, Array(filters), most: limits.filters).bytes
            messages += others.map { Message(member: $0, bytes: bytes) }
            (told, tellAt) = (filters.isEmpty ? nil : filters, now + limits.renewal)
        }
        guard !filters.isEmpty else {
            sources = [:]
            return (messages, [])
        }
        let silent = sources.filter { !$0.value.isSilent && now - $0.value.heardAt >= limits.timeout }.keys.sorted()
        for member in silent { sources[member]?.isSilent = true }
        return (messages, silent.map { LiveGap(cause: .member, count: nil, member: $0) })
    }

    /// Returns the frames for other members. `lost` is the number of entries dropped here.
    mutating func frames(_ entries: [LiveEntry], lost: Int, now: Deadline) -> [Message] {
        guard !entries.isEmpty || lost > 0 else { return [] }
        var texts = [String?](repeating: nil, count: entries.count)
        return audiences.keys.sorted().compactMap { member in
            guard let filters = audiences[member]?.filters else { return nil }
            var (lines, size, left): ([String], Int, Int) = ([], 0, lost)
            for (place, entry) in entries.enumerated() where filters.contains(where: { $0.takes(entry) }) {
                guard size < limits.bytesAtATime else {
                    left += 1
                    continue
                }
                let text = texts[place] ?? LiveFrame.line(entry)
                texts[place] = text
                lines.append(text)
                size += text.utf8.count
            }
            return lines.isEmpty && left == 0 ? nil : frame(for: member, lines, lost: left, now)
        }
    }

    private mutating func frame(for member: String, _ lines: [String], lost: Int, _ now: Deadline) -> Message {
        audiences[member]?.frame += 1
        audiences[member]?.sentAt = now
        let number = audiences[member]?.frame ?? 0
        return Message(member: member, bytes: LiveFrame.bytes(of: name, number, lost: lost, lines))
    }
}

/// A message that a member has readers, with their filters: a 0 byte and JSON.
struct LiveInterest {
    private struct Wire: Codable {
        struct Filter: Codable {
            var kinds: [String]?
            var platform: String?
            var app: String?
            var event: String?
            var account: String?
        }

        var member: String
        var filters: [Filter]
    }

    let member: String
    /// Empty if the member has no readers left.
    let filters: [LiveFilter]

    /// Replaces more than `most` filters by one that matches all entries.
    init(member: String, _ filters: [LiveFilter], most: Int) {
        self.member = member
        // The reader's own member applies its filter by member.
        let filters = Set(
            filters.map { filter in
                var filter = filter
                filter.member = nil
                return filter
            }
        )
        self.filters = filters.count > most ? [LiveFilter()] : Array(filters)
    }

    /// Nil if the bytes, which are untrusted, are not such a message.
    init?(_ bytes: [UInt8]) {
        guard bytes.first == 0, bytes.count <= 64 << 10,
            let wire = MemberJSON.read(bytes.dropFirst(), as: Wire.self)
        else { return nil }
        member = wire.member
        filters = wire.filters.compactMap { wire in
            var filter = LiveFilter()
            if let kinds = wire.kinds { filter.kinds = Set(kinds.compactMap { LiveEntry.Kind(rawValue: $0) }) }
            (filter.platform, filter.app) = (wire.platform, wire.app)
            filter.event = wire.event.flatMap { Bytes32(hex: $0) }.map { EventID($0) }
            filter.account = wire.account.flatMap { PublicKey(hex: $0) }
            return filter
        }
    }

    var bytes: [UInt8] {
        let filters = filters.map { filter in
            Wire.Filter(
                kinds: filter.kinds.map { $0.map(\.rawValue).sorted() },
                platform: filter.platform,
                app: filter.app,
                event: filter.event?.hex,
                account: filter.account?.hex
            )
        }
        return [0] + MemberJSON.bytes(Wire(member: member, filters: filters))
    }
}

/// The entries of a member: a 1 byte, a line with its name, the frame's number and the number of dropped entries, and a
/// line with tab-separated fields for each entry.
struct LiveFrame {
    let member: String
    let number: UInt64
    let lost: Int
    let entries: [LiveEntry]

    static func bytes(of member: String, _ number: UInt64, lost: Int, _ lines: [String]) -> [UInt8] {
        [1] + Array((["\(member)\t\(number)\t\(lost)"] + lines).joined(separator: "\n").utf8)
    }

    /// No field contains tabs or newlines: queue names cannot, and JSON escapes them.
    static func line(_ entry: LiveEntry) -> String {
        let fields: [String] = [
            entry.kind.rawValue, "\(entry.time.milliseconds)", entry.event?.hex ?? "", entry.account?.hex ?? "",
            entry.device.map { "\($0.rawValue)" } ?? "", entry.queue?.platform ?? "", entry.queue?.app ?? "",
            entry.json,
        ]
        return fields.joined(separator: "\t")
    }

    /// Nil if the bytes, which are untrusted, are not a frame. Unreadable entries count as lost.
    init?(_ bytes: [UInt8]) {
        guard bytes.first == 1 else { return nil }
        var lines = bytes.dropFirst().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            String(validating: $0, as: UTF8.self) ?? ""
        }[...]
        guard let head = lines.popFirst()?.split(separator: "\t"), head.count == 3, let number = UInt64(head[1]),
            let lost = Int(head[2]), lost >= 0
        else { return nil }
        member = String(head[0])
        self.number = number
        let entries = lines.map { LiveEntry(line: $0, of: String(head[0])) }
        self.entries = entries.compactMap(\.self)
        self.lost = lost.addingReportingOverflow(entries.count - self.entries.count).partialValue
    }
}
