import Core
import Foundation
import Logging
import Synchronization
import Testing
import TimeTestSupport

@testable import Relays

/// The shell, on real files, pipes and FIFOs.
@Suite struct FeedTests {
    /// Takes batches of a feed and answers them as a test sets.
    private final class Taker: Sendable {
        private struct State {
            var events: [String] = []
            var held: [@Sendable () -> Void] = []
            var refusals = 0
            var waiting: [(Int, CheckedContinuation<Void, Never>)] = []
        }

        private let state: Mutex<State>
        private let holds: Bool

        /// Rejects the first `refusals` batches as too many, or holds all answers until ``release()``.
        init(refusals: Int = 0, holds: Bool = false) {
            state = Mutex(State(refusals: refusals))
            self.holds = holds
        }

        var events: [String] { state.withLock { $0.events } }

        @Sendable func take(_ events: [[UInt8]], _ completion: @escaping @Sendable ([FeedAnswer]) -> Void) {
            let texts = events.map { String(decoding: $0, as: UTF8.self) }
            let refuses = state.withLock { state in
                state.refusals -= 1
                return state.refusals >= 0
            }
            if refuses { return completion(texts.map { _ in .notNow }) }
            let ready = state.withLock { state in
                state.events += texts
                if holds { state.held.append { completion(texts.map { _ in .taken }) } }
                let count = state.events.count
                let ready = state.waiting.filter { $0.0 <= count }
                state.waiting.removeAll { $0.0 <= count }
                return ready
            }
            if !holds { completion(texts.map { $0.contains("bad") ? .refused("invalid: bad") : .taken }) }
            for (_, continuation) in ready { continuation.resume() }
        }

        func release() {
            let held = state.withLock { state in
                defer { state.held = [] }
                return state.held
            }
            for answer in held { answer() }
        }

        func wait(for count: Int) async {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.events.count < count { state.waiting.append((count, continuation)) }
                    return state.events.count >= count
                }
                if isReady { continuation.resume() }
            }
        }
    }

    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func path() -> String {
        FileManager.default.temporaryDirectory.appendingPathComponent("feed-\(UUID().uuidString)").path
    }

    /// Feeds everything at `path` and returns the final counts.
    private func feed(_ path: String, to taker: Taker, limits: FeedLimits = FeedLimits()) async throws -> FeedCounts {
        let (counts, continuation) = AsyncStream.makeStream(of: FeedCounts.self)
        let feed = try Feed(FeedInput(path: path), limits: limits, submit: taker.take, now: { 0 }, logger: Self.logger)
        feed.start { continuation.yield($0) }
        for await counts in counts { return counts }
        return FeedCounts()
    }

    @Test func fileIsReadToItsEnd() async throws {
        let path = path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let lines = (1...5_000).map { #"{"id":"\#($0)"}"# }
        try (lines + ["", "nonsense", #"["EVENT",{"id":"bad"}]"#]).joined(separator: "\n")
            .write(toFile: path, atomically: true, encoding: .utf8)
        let taker = Taker()
        var limits = FeedLimits()
        limits.chunkBytes = ByteCount(1_000)
        let counts = try await feed(path, to: taker, limits: limits)
        #expect(taker.events == lines + [#"{"id":"bad"}"#])
        #expect(counts == FeedCounts(lines: 5_003, taken: 5_000, refused: 2, passedOver: 1))
    }

    @Test func eventsRefusedForOverloadAreRetried() async throws {
        let path = path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "{\"id\":1}\n{\"id\":2}\n".write(toFile: path, atomically: true, encoding: .utf8)
        let taker = Taker(refusals: 3)
        var limits = FeedLimits()
        limits.retryDelays = .zero ... .zero
        let counts = try await feed(path, to: taker, limits: limits)
        #expect(taker.events == ["{\"id\":1}", "{\"id\":2}"])
        #expect(counts.taken == 2)
    }

    @Test func fifoWritersMayReconnectAndAreThrottled() async throws {
        let path = path()
        #expect(mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let taker = Taker(holds: true)
        var limits = FeedLimits()
        limits.outstandingEvents = 2
        let feed = try Feed(FeedInput(path: path), limits: limits, submit: taker.take, now: { 0 }, logger: Self.logger)
        feed.start { _ in Issue.record("a FIFO has no end") }
        for number in 1...2 { try write("{\"id\":\(number)}\n", to: path) }
        await taker.wait(for: 2)
        // Two are outstanding: these stay in the FIFO until they are answered.
        try write("{\"id\":3}\n{\"id", to: path)
        try write("\":4}\n", to: path)
        #expect(taker.events.count == 2)
        taker.release()
        await taker.wait(for: 4)
        taker.release()
        await feed.stop()
        #expect(taker.events == (1...4).map { "{\"id\":\($0)}" })
    }

    /// The FIFO holds as much as a reader takes in one read, so that neither side wakes for every 64 KiB.
    @Test func fifoHoldsAFullRead() throws {
        let path = path()
        #expect(mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let input = try FeedInput(path: path)
        let writer = try #require(FileHandle(forWritingAtPath: path))
        let getPipeSize: Int32 = 1032  // `F_GETPIPE_SZ`, which Glibc keeps from Swift.
        #expect(fcntl(writer.fileDescriptor, getPipeSize) == 256 << 10)
        #expect(input.path == path)
    }

    /// Available bytes are read first, and an interrupt during the read ends the next wait.
    @Test func interruptIsNotLostDuringARead() throws {
        let path = path()
        #expect(mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let input = try FeedInput(path: path)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 1)
        defer { buffer.deallocate() }
        try write("0123456789", to: path)
        for _ in 0..<100 { input.interrupt() }
        #expect(input.wait(atMost: nil, reads: true, into: buffer) == .bytes(10))
        #expect(input.wait(atMost: nil, reads: true, into: buffer) == .nothing)
        try write("0123", to: path)
        #expect(input.wait(atMost: nil, reads: true, into: buffer) == .bytes(4))
    }

    private func write(_ text: String, to path: String) throws {
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.write(contentsOf: Data(text.utf8))
        try file.close()
    }

    @Test func stopsWhileItWaits() async throws {
        let path = path()
        #expect(mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let taker = Taker()
        let feed = try Feed(FeedInput(path: path), submit: taker.take, now: { 0 }, logger: Self.logger)
        feed.start { _ in Issue.record("a FIFO has no end") }
        await feed.stop()
        #expect(taker.events == [])
    }

    @Test func stopLeavesNoIncompleteLineToTheNextReader() throws {
        let path = path()
        #expect(mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let keeper = try #require(FileHandle(forUpdatingAtPath: path))
        try write("{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n", to: path)
        var batcher = FeedBatcher(limits: FeedLimits())
        let input = try FeedInput(path: path)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 12, alignment: 1)
        defer { buffer.deallocate() }
        #expect(input.wait(atMost: .zero, reads: true, into: buffer) == .bytes(12))
        #expect(batcher.read(UnsafeRawBufferPointer(buffer)).lines == [1])
        #expect(Feed.restOfLine(from: input, for: &batcher, buffer).flatMap(\.lines) == [2])
        #expect(try keeper.read(upToCount: 9) == Data("{\"id\":3}\n".utf8))
    }

    @Test func spoolFileStaysUntilAllItsEventsAreHandled() async throws {
        let path = path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "{\"id\":2}\n".write(toFile: path + "/10", atomically: false, encoding: .utf8)
        try "{\"id\":1}\n".write(toFile: path + "/9", atomically: false, encoding: .utf8)
        let first = Taker(holds: true)
        let killed = try Feed(FeedInput(path: path), submit: first.take, now: { 0 }, logger: Self.logger)
        killed.start()
        await first.wait(for: 1)
        await killed.stop()
        #expect(first.events == ["{\"id\":1}"])
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: path)) == ["9", "10"])
        // Another reader starts again with the lines that the first had not settled.
        let second = Taker()
        let feed = try Feed(FeedInput(path: path), submit: second.take, now: { 0 }, logger: Self.logger)
        feed.start()
        await second.wait(for: 2)
        await feed.stop()
        #expect(second.events == ["{\"id\":1}", "{\"id\":2}"])
        #expect(!FileManager.default.fileExists(atPath: path + "/9"))
    }

    @Test func aSpoolsFileIsNotDeletedUnderItsWriter() throws {
        let path = path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "{\"id".write(toFile: path + "/1", atomically: false, encoding: .utf8)
        let spool = FeedSpool(path: path)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 1)
        defer { buffer.deallocate() }
        #expect(spool.read(into: buffer) == .bytes(4))
        #expect(spool.discard(isWithinLine: true) == .none)
        #expect(spool.read(into: buffer) == .pause)
        let writer = open(path + "/1", O_WRONLY | O_APPEND)
        #expect(flock(writer, LOCK_EX) == 0)
        #expect(spool.discard(isWithinLine: true) == .busy)
        #expect(Glibc.write(writer, "\":1}\n", 5) == 5)
        #expect(flock(writer, LOCK_UN) == 0)
        // Bytes that arrived since are read first.
        #expect(spool.discard(isWithinLine: false) == .none)
        #expect(FileManager.default.fileExists(atPath: path + "/1"))
        #expect(spool.read(into: buffer) == .bytes(5))
        #expect(spool.read(into: buffer) == .pause)
        #expect(spool.discard(isWithinLine: true) == .halfLine)
        #expect(spool.discard(isWithinLine: false) == .none)
        #expect(!FileManager.default.fileExists(atPath: path + "/1"))
        close(writer)
    }

    @Test func feedThatNeverStartedStopsImmediately() async throws {
        let path = path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "{}".write(toFile: path, atomically: true, encoding: .utf8)
        let taker = Taker()
        let feed = try Feed(FeedInput(path: path), submit: taker.take, now: { 0 }, logger: Self.logger)
        await feed.stop()
        #expect(taker.events.isEmpty)
    }

    @Test func unusableFeedIsExplained() throws {
        func reason(_ path: String) -> String {
            do {
                _ = try FeedInput(path: path)
                return "opened"
            } catch {
                return "\(error)"
            }
        }
        #expect(
            reason("/nonexistent/feed")
                == """
                /nonexistent/feed does not exist. For strfry's hook, create a directory: mkdir -m 2770 /nonexistent/feed. \
                For other programs, create a FIFO: mkfifo -m 660 /nonexistent/feed
                """
        )
        #expect(
            // The system's own reason differs between users.
            reason("/proc/self")
                .hasPrefix("cannot read and delete files in the directory /proc/self: ")
        )
        #expect(reason("-") == "opened")
    }
}
