import Console
import Core
import NIOCore
import Nostr

/// Who reads the live flow, and what each gets of it. Knows no clock, lock or connection.
///
/// Readers that want the same share what is sent. What a reader does not take in time is lost to it, see
/// ``LiveMailbox``.
struct LiveFeed {
    struct Limits: Sendable {
        var readers: Int
        /// Entries that are kept for readers that come again.
        var kept = 1_024
        /// Bytes of entries that a reader gets at a time.
        var bytesAtATime = 32 << 10
        /// After how long without an entry a reader gets a sign of life.
        var heartbeat: Duration = .seconds(15)
        /// How long entries are kept when nobody reads.
        var memory: Duration = .seconds(60)
    }

    /// Part of what a reader gets.
    struct Frame: Sendable, Equatable {
        let bytes: ByteBuffer
        /// How many entries it is.
        let entries: Int
    }

    typealias ReaderID = Int

    private struct Reader {
        let filter: LiveFilter
        let client: APIPrincipal?
        var sentAt: Deadline
    }

    private let limits: Limits
    /// Tells the numbers of one run from those of others.
    private var run: String
    private let newRun: () -> String
    private var readers: [ReaderID: Reader] = [:]
    private var nextReader = 0
    /// Each entry has a number, from 1 on.
    private var lastNumber = 0
    private var kept: [NumberedEntry] = []
    private var emptySince: Deadline?

    init(_ limits: Limits, newRun: @escaping () -> String) {
        self.limits = limits
        self.newRun = newRun
        run = newRun()
    }

    var count: Int { readers.count }
    /// What the readers want.
    var filters: Set<LiveFilter> { Set(readers.values.map(\.filter)) }
    /// Whether nobody reads and nothing is kept.
    var isForgotten: Bool { readers.isEmpty && emptySince == nil }
    var needsQueues: Bool { readers.values.contains { $0.filter.needsQueue } }
    var needsAccounts: Bool { readers.values.contains { $0.filter.account != nil } }

    /// How long entries are gathered before they are sent. With many readers longer: waking one costs more than an
    /// entry does.
    var pause: Duration { .milliseconds(min(1_000, max(100, readers.count))) }

    /// Nil where there are too many. When no place is left, the oldest reader of the client with the most gives way to a
    /// client that has at least two less: its place is `inPlaceOf`. `last` is the id of the last entry that the reader
    /// had.
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

    /// Whether nobody has read for so long that nothing has to be kept. Then all is forgotten.
    mutating func isAbandoned(now: Deadline) -> Bool {
        guard let emptySince, now - emptySince >= limits.memory else { return false }
        self.emptySince = nil
        kept = []
        lastNumber = 0
        // What comes from now on is not numbered, so that old numbers must not seem to lack nothing.
        run = newRun()
        return true
    }

    /// What the readers get. `lost` entries more there were than could be kept; each reader gets the `gaps`.
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
            // Most readers that look at one event or account get nothing most of the time.
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

/// An entry with its number in the run.
private struct NumberedEntry {
    let number: Int
    let entry: LiveEntry
}

/// Entries that are sent together. Each is encoded once, whoever reads it, and found by what most readers look at.
private struct NumberedEntries {
    private let entries: [NumberedEntry]
    private let run: String
    private let byAccount: [PublicKey: [Int]]
    private let byEvent: [EventID: [Int]]
    /// The text of each entry, once a reader has asked for it.
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

    /// Whether some entry may be for the filter.
    func concern(_ filter: LiveFilter) -> Bool {
        !entries.isEmpty && filter.event.map { byEvent[$0] != nil } ?? true
            && filter.account.map { byAccount[$0] != nil } ?? true
    }

    /// What readers with that filter get, in at most `limit` bytes and one entry more; nil: nothing.
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

/// What a reader has not taken yet: the newest, within a limit. It is told how many entries it lost.
struct LiveMailbox {
    private let limit: Int
    private var frames: [LiveFeed.Frame] = []
    private var bytes = 0
    private var lost = 0

    /// Holds `limit` bytes, but at least the last frame.
    init(limit: Int) {
        self.limit = limit
    }

    mutating func put(_ frame: LiveFeed.Frame) {
        // A sign of life is of no use to whoever has something to read.
        if frame.entries == 0, !frames.isEmpty, frame.bytes.readableBytes <= 3 { return }
        frames.append(frame)
        bytes += frame.bytes.readableBytes
        while bytes > limit, frames.count > 1 {
            let oldest = frames.removeFirst()
            bytes -= oldest.bytes.readableBytes
            lost += oldest.entries
        }
    }

    /// Nil where there is nothing.
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
