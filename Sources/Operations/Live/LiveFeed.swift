import NIOCore
import Units

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
        var sentAt: Deadline
    }

    private struct Kept {
        let number: Int
        let entry: LiveEntry
    }

    private let limits: Limits
    /// Tells the numbers of one run from those of others.
    private var run: String
    private let newRun: () -> String
    private var readers: [ReaderID: Reader] = [:]
    private var nextReader = 0
    /// Each entry has a number, from 1 on.
    private var lastNumber = 0
    private var kept: [Kept] = []
    private var emptySince: Deadline?

    init(_ limits: Limits, newRun: @escaping () -> String) {
        self.limits = limits
        self.newRun = newRun
        run = newRun()
    }

    var count: Int { readers.count }
    var needsQueues: Bool { readers.values.contains { $0.filter.needsQueue } }
    var needsAccounts: Bool { readers.values.contains { $0.filter.account != nil } }

    /// How long entries are gathered before they are sent. With many readers longer: waking one costs more than an
    /// entry does.
    var pause: Duration { .milliseconds(min(1_000, max(100, readers.count))) }

    /// Nil where there are too many. `last` is the id of the last entry that the reader had.
    mutating func join(_ filter: LiveFilter, after last: String?, now: Deadline) -> (id: ReaderID, frames: [Frame])? {
        guard readers.count < limits.readers else { return nil }
        nextReader += 1
        readers[nextReader] = Reader(filter: filter, sentAt: now)
        emptySince = nil
        var frames = [Frame(bytes: ByteBuffer(string: ": hello\nretry: 2000\n\n"), entries: 0)]
        if let last { frames += missed(after: last, filter) }
        return (nextReader, frames)
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
        let entries = kept.drop { $0.number <= number }.map { ($0.number, $0.entry) }
        return frames + (frame(entries, filter).map { [$0] } ?? [])
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

    /// What the readers get. `lost` entries more there were than could be kept.
    mutating func take(_ entries: [LiveEntry], lost: Int, now: Deadline) -> [(reader: ReaderID, frame: Frame)] {
        let numbered = entries.enumerated().map { (lastNumber + 1 + $0.offset, $0.element) }
        lastNumber += entries.count + lost
        kept += numbered.suffix(limits.kept).map { Kept(number: $0.0, entry: $0.1) }
        if kept.count > limits.kept { kept.removeFirst(kept.count - limits.kept) }
        // Most readers that look at one event or account get nothing most of the time.
        let events = Set(entries.lazy.compactMap(\.event))
        let accounts = Set(entries.lazy.compactMap(\.account))
        var frames: [LiveFilter: Frame?] = [:]
        var sent: [(reader: ReaderID, frame: Frame)] = []
        for (id, reader) in readers {
            let filter = reader.filter
            let isConcerned =
                lost > 0
                || (!entries.isEmpty && filter.event.map(events.contains) ?? true
                    && filter.account.map(accounts.contains) ?? true)
            if isConcerned {
                let frame = frames[filter] ?? frame(numbered, filter, lost: lost)
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

    /// Nil where nothing is for the filter.
    private func frame(_ entries: [(Int, LiveEntry)], _ filter: LiveFilter, lost: Int = 0) -> Frame? {
        var bytes = ByteBuffer()
        var (count, left) = (0, lost)
        for (number, entry) in entries where filter.takes(entry) {
            guard bytes.readableBytes < limits.bytesAtATime else {
                left += 1
                continue
            }
            bytes.writeString("id: \(run).\(number)\nevent: \(entry.kind.rawValue)\ndata: \(entry.json)\n\n")
            count += 1
        }
        if left > 0 { bytes.writeImmutableBuffer(Self.frame(LiveGap(cause: .slow, count: left)).bytes) }
        return bytes.readableBytes == 0 ? nil : Frame(bytes: bytes, entries: count)
    }

    static func frame(_ gap: LiveGap) -> Frame {
        Frame(bytes: ByteBuffer(string: "event: lost\ndata: \(gap.json)\n\n"), entries: 0)
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
