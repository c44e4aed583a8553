import Console
import Core
import NIOCore
import Nostr

/// Distributes live entries to the readers of the stream. Uses no clock, lock or connection itself.
///
/// Readers with the same filter share the encoded entries. Slow readers lose entries, see ``LiveMailbox``.
struct LiveFeed {
    struct Limits: Sendable {
        var readers: Int
        /// Entries that are kept for readers that reconnect.
        var kept = 1_024
        /// The limit of bytes of entries in one frame.
        var bytesAtATime = 32 << 10
        /// The time without entries after which a reader gets a heartbeat.
        var heartbeat: Duration = .seconds(15)
        /// The time for which entries are kept without readers.
        var memory: Duration = .seconds(60)
    }

    /// Bytes for a reader.
    struct Frame: Sendable, Equatable {
        let bytes: ByteBuffer
        /// The number of entries in it.
        let entries: Int
    }

    typealias ReaderID = Int

    private struct Reader {
        let filter: LiveFilter
        let client: APIPrincipal?
        var sentAt: Deadline
    }

    private let limits: Limits
    /// A random prefix of entry numbers, which differs after a restart.
    private var run: String
    private let newRun: () -> String
    private var readers: [ReaderID: Reader] = [:]
    private var nextReader = 0
    /// The number of the last entry; the first entry has number 1.
    private var lastNumber = 0
    private var kept: [NumberedEntry] = []
    private var emptySince: Deadline?

    init(_ limits: Limits, newRun: @escaping () -> String) {
        self.limits = limits
        self.newRun = newRun
        run = newRun()
    }

    var count: Int { readers.count }
    /// The filters of the readers.
    var filters: Set<LiveFilter> { Set(readers.values.map(\.filter)) }
    /// Whether there are no readers and no kept entries.
    var isForgotten: Bool { readers.isEmpty && emptySince == nil }
    var needsQueues: Bool { readers.values.contains { $0.filter.needsQueue } }
    var needsAccounts: Bool { readers.values.contains { $0.filter.account != nil } }

    /// The time for which entries are gathered before they are sent. It grows with the number of readers, because each
    /// send costs more than an entry.
    var pause: Duration { .milliseconds(min(1_000, max(100, readers.count))) }

    /// Adds a reader; nil if there are too many. The oldest reader of the client with the most readers is replaced
    /// (`inPlaceOf`) if this client has at least two fewer. `last` is the ID of the reader's last entry.
    mutating func join(
        _ filter: LiveFilter,
        for client: APIPrincipal? = nil,
        after last: String?,
        now: Deadline
    ) -> (id: ReaderID, inPlaceOf: ReaderID?, frames: [Frame])? {
        var former: ReaderID?
        if readers.count >= limits.readers {
            former = readerToReplace(for: client)
            guard let former else { return nil }
            readers[former] = nil
        }
        nextReader += 1
        readers[nextReader] = Reader(filter: filter, client: client, sentAt: now)
        emptySince = nil
        var frames = [Frame(bytes: ByteBuffer(string: ": hello\nretry: 2000\n\n"), entries: 0)]
        if let last { frames += missed(after: last, filter) }
        return (nextReader, former, frames)
    }

    private func readerToReplace(for client: APIPrincipal?) -> ReaderID? {
        let counts = Dictionary(readers.values.map { ($0.client, 1) }, uniquingKeysWith: +)
        guard let most = counts.max(by: { $0.value < $1.value }), most.value >= counts[client, default: 0] + 2 else {
            return nil
        }
        return readers.keys.filter { readers[$0]?.client == most.key }.min()
    }

    private func missed(after last: String, _ filter: LiveFilter) -> [Frame] {
        let parts = last.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == run, let number = Int(parts[1]), (0...lastNumber).contains(number) else {
            return [Self.frame(LiveGap(cause: .restart, count: nil))]
        }
        var frames: [Frame] = []
        if let first = kept.first?.number, number + 1 < first {
            frames.append(Self.frame(LiveGap(cause: .old, count: first - number - 1)))
        }
        var entries = NumberedEntries(kept.drop { $0.number <= number }, run: run)
        return frames + (entries.frame(filter, limit: limits.bytesAtATime).map { [$0] } ?? [])
    }

    mutating func leave(_ reader: ReaderID, now: Deadline) {
        readers[reader] = nil
        if readers.isEmpty { emptySince = now }
    }

    /// Whether there were no readers for so long that entries need not be kept. If so, drops them.
    mutating func isAbandoned(now: Deadline) -> Bool {
        guard let emptySince, now - emptySince >= limits.memory else { return false }
        self.emptySince = nil
        kept = []
        lastNumber = 0
        // Later entries are not numbered, so the old prefix must not match: a gap would stay hidden.
        run = newRun()
        return true
    }

    /// Returns the frames for readers. `lost` is the number of dropped entries; each reader gets all `gaps`.
    mutating func take(
        _ entries: [LiveEntry],
        lost: Int,
        gaps: [LiveGap] = [],
        now: Deadline
    ) -> [(reader: ReaderID, frame: Frame)] {
        let numbered = entries.enumerated().map { NumberedEntry(number: lastNumber + 1 + $0.offset, entry: $0.element) }
        lastNumber += entries.count + lost
        kept += numbered.suffix(limits.kept)
        if kept.count > limits.kept { kept.removeFirst(kept.count - limits.kept) }
        var round = NumberedEntries(numbered, run: run)
        var frames: [LiveFilter: Frame?] = [:]
        var sent = gaps.map(Self.frame).flatMap { frame in readers.keys.map { (reader: $0, frame: frame) } }
        for (id, reader) in readers {
            let filter = reader.filter
            // Readers with a filter by event or account rarely have entries.
            if lost > 0 || round.concern(filter) {
                let frame = frames[filter] ?? round.frame(filter, lost: lost, limit: limits.bytesAtATime)
                frames[filter] = .some(frame)
                if let frame {
                    sent.append((id, frame))
                    readers[id]?.sentAt = now
                    continue
                }
            }
            if now - reader.sentAt >= limits.heartbeat {
                sent.append((id, Frame(bytes: ByteBuffer(string: ":\n\n"), entries: 0)))
                readers[id]?.sentAt = now
            }
        }
        return sent
    }

    static func frame(_ gap: LiveGap) -> Frame {
        Frame(bytes: ByteBuffer(string: "event: lost\ndata: \(gap.json)\n\n"), entries: 0)
    }
}

/// An entry with its number.
private struct NumberedEntry {
    let number: Int
    let entry: LiveEntry
}

/// Entries of one frame, encoded at most once for all readers, with indexes for the common filters.
private struct NumberedEntries {
    private let entries: [NumberedEntry]
    private let run: String
    private let byAccount: [PublicKey: [Int]]
    private let byEvent: [EventID: [Int]]
    /// The encoded entries, filled on demand.
    private var texts: [String?]

    init(_ entries: some Sequence<NumberedEntry>, run: String) {
        self.entries = Array(entries)
        self.run = run
        var (byAccount, byEvent): ([PublicKey: [Int]], [EventID: [Int]]) = ([:], [:])
        for (place, numbered) in self.entries.enumerated() {
            if let account = numbered.entry.account { byAccount[account, default: []].append(place) }
            if let event = numbered.entry.event { byEvent[event, default: []].append(place) }
        }
        (self.byAccount, self.byEvent) = (byAccount, byEvent)
        texts = Array(repeating: nil, count: self.entries.count)
    }

    /// Whether some entry may match the filter.
    func concern(_ filter: LiveFilter) -> Bool {
        !entries.isEmpty && filter.event.map { byEvent[$0] != nil } ?? true
            && filter.account.map { byAccount[$0] != nil } ?? true
    }

    /// Returns the frame for a filter, with up to `limit` bytes plus one entry; nil if it is empty.
    mutating func frame(_ filter: LiveFilter, lost: Int = 0, limit: Int) -> LiveFeed.Frame? {
        var bytes = ByteBuffer()
        var (count, left) = (0, lost)
        func add(_ place: Int) {
            guard filter.takes(entries[place].entry) else { return }
            guard bytes.readableBytes < limit else {
                left += 1
                return
            }
            bytes.writeString(text(place))
            count += 1
        }
        if let event = filter.event {
            for place in byEvent[event] ?? [] { add(place) }
        } else if let account = filter.account {
            for place in byAccount[account] ?? [] { add(place) }
        } else {
            for place in entries.indices { add(place) }
        }
        if left > 0 { bytes.writeImmutableBuffer(LiveFeed.frame(LiveGap(cause: .slow, count: left)).bytes) }
        return bytes.readableBytes == 0 ? nil : LiveFeed.Frame(bytes: bytes, entries: count)
    }

    private mutating func text(_ place: Int) -> String {
        if let known = texts[place] { return known }
        let (number, entry) = (entries[place].number, entries[place].entry)
        let text = "id: \(run).\(number)\nevent: \(entry.kind.rawValue)\ndata: \(entry.json)\n\n"
        texts[place] = text
        return text
    }
}

/// A reader's buffer, which drops the oldest frames at its limit and reports the number of lost entries.
struct LiveMailbox {
    private let limit: Int
    private var frames: [LiveFeed.Frame] = []
    private var bytes = 0
    private var lost = 0

    /// Holds up to `limit` bytes, but always the last frame.
    init(limit: Int) {
        self.limit = limit
    }

    mutating func put(_ frame: LiveFeed.Frame) {
        // A heartbeat is unnecessary if other frames wait.
        if frame.entries == 0, !frames.isEmpty, frame.bytes.readableBytes <= 3 { return }
        frames.append(frame)
        bytes += frame.bytes.readableBytes
        while bytes > limit, frames.count > 1 {
            let oldest = frames.removeFirst()
            bytes -= oldest.bytes.readableBytes
            lost += oldest.entries
        }
    }

    /// Nil if the buffer is empty.
    mutating func take() -> ByteBuffer? {
        if lost > 0 {
            defer { lost = 0 }
            return LiveFeed.frame(LiveGap(cause: .slow, count: lost)).bytes
        }
        guard !frames.isEmpty else { return nil }
        let frame = frames.removeFirst()
        bytes -= frame.bytes.readableBytes
        return frame.bytes
    }

    mutating func clear() {
        frames = []
        bytes = 0
    }
}
