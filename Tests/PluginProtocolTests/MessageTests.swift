import CarillonABI
import Core
import Foundation
import PluginProtocol
import RandomTestSupport
import Testing

/// The bodies of frames: decoding accepts the encoded bodies, and no others.
@Suite struct MessageTests {
    @Test func samplesCoverEveryKind() {
        #expect(Set(Sample.all.map(\.kind)) == Set(FrameKind.allCases))
        #expect(Sample.all.count == FrameKind.allCases.count)
    }

    @Test(arguments: Sample.all)
    func messageReadEqualsMessageWritten(_ sample: Sample) throws {
        #expect(try sample.reread(sample.body) == sample.body)
    }

    @Test(arguments: Sample.all)
    func bodiesCutShortAreRefused(_ sample: Sample) {
        let body = sample.body
        for length in body.indices {
            #expect(throws: ProtocolError.self, "\(length) bytes") { try sample.reread(Array(body.prefix(length))) }
        }
    }

    @Test(arguments: Sample.all)
    func trailingBytesAreRefused(_ sample: Sample) {
        #expect(throws: ProtocolError.malformed(sample.kind)) { try sample.reread(sample.body + [0]) }
    }

    /// Replaces each number in turn by a count of more than four billion.
    @Test(arguments: Sample.all)
    func largeCountsAllocateNoMemory(_ sample: Sample) {
        let body = sample.body
        for place in stride(from: 0, to: body.count - 3, by: 1) {
            var changed = body
            changed.replaceSubrange(place..<place + 4, with: [0xff, 0xff, 0xff, 0xff])
            _ = try? sample.reread(changed)
        }
    }

    @Test(arguments: Sample.all)
    func randomBodiesAreReadOrRefused(_ sample: Sample) {
        var random = SeededGenerator(seed: UInt64(sample.kind.rawValue))
        for round in 0..<1_000 {
            // Half are noise, half the sample with a few bytes changed.
            var body = sample.body
            if round % 2 == 0 {
                body = random.bytes(Int(random.next() % 200))
            } else if !body.isEmpty {
                for _ in 0...random.next() % 4 {
                    body[Int(random.next() % UInt64(body.count))] = UInt8(truncatingIfNeeded: random.next())
                }
            }
            _ = try? sample.reread(body)
        }
    }

    @Test func listsHaveLimits() {
        var writer = FrameWriter()
        writer.frame(.command, id: 1) { writer in
            writer.number(UInt32(7))
            writer.number(UInt32(1025))
            for _ in 0..<1025 { writer.text("word") }
        }
        let command = Sample.all.first { $0.kind == .command }
        #expect(throws: ProtocolError.tooMany) {
            try command?.reread(Array(writer.bytes.dropFirst(Frame.headerSize)))
        }
    }

    /// An honest process cannot send any of these.
    @Test(arguments: [
        ("", 1), ("\u{e4}", 1), ("two\nlines", 1), (String(repeating: "k", count: 65), 1), ("key", (16 << 10) + 1),
    ])
    func storedEntryHasLimits(_ key: String, _ count: Int) {
        let entry = StateEntry(key: Array(key.utf8), value: [UInt8](repeating: 7, count: count))
        var writer = FrameWriter()
        #expect(writer.frame(.store, id: 1) { StoreMessage(instance: 7, entry: entry).write(to: &$0) })
        let store = Sample.all.first { $0.kind == .store }
        #expect(throws: ProtocolError.unknownValue) {
            try store?.reread(Array(writer.take().dropFirst(Frame.headerSize)))
        }
        let many = (0...256).map { StateEntry(key: Array("\($0)".utf8), value: [1]) }
        writer.frame(.stored, id: 0) { StoredMessage(instance: 7, isWhole: true, entries: many).write(to: &$0) }
        let stored = Sample.all.first { $0.kind == .stored }
        #expect(throws: ProtocolError.tooMany) {
            try stored?.reread(Array(writer.bytes.dropFirst(Frame.headerSize)))
        }
    }

    @Test func anotherVersionOfTheProtocolIsNamed() {
        let hello = Sample.all.first { $0.kind == .hello }
        #expect(throws: ProtocolError.otherVersion(3)) { try hello?.reread([3, 0, 0, 0]) }
    }

    /// The bytes in a plugin's memory that should be a reason, and the reason that the router receives.
    @Test func emptyReasonsAreStillSent() throws {
        let reasons = [
            (carillon_str("dead"), "dead"), (carillon_str(""), ""), (carillon_str(ptr: nil, len: 5), "?"),
            (carillon_str(ptr: nil, len: -1), "?"),
            (carillon_str("a reason of more than forty bytes is too long"), "?"),
        ]
        for (reason, told) in reasons {
            var outcome = carillon_outcome()
            outcome.reason = reason
            var writer = FrameWriter()
            writer.frame(.completed, id: 1) { OutcomeMessage.write(instance: 1, outcome, to: &$0) }
            try writer.bytes.withUnsafeBytes { frame in
                let body = UnsafeRawBufferPointer(rebasing: frame.dropFirst(Frame.headerSize))
                let message = try OutcomeMessage(reading: Frame(kind: .completed, id: 1, body: body))
                #expect(contents(message.outcome.reason) == Array(told.utf8))
            }
        }
    }

    @Test func linesAreCut() {
        let line = String(repeating: "x", count: 10_000)
        var writer = FrameWriter()
        let isWritten = writer.frame(.log, id: 0) { writer in
            var line = line
            line.withUTF8 { text in
                let text = carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count)
                LogMessage.write(instance: 1, .CARILLON_INFO, text, to: &writer)
            }
        }
        #expect(isWritten)
        #expect(writer.bytes.count == Frame.headerSize + 12 + LogMessage.textLimit)
    }
}
