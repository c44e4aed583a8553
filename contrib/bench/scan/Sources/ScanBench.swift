import CSecp256k1
import Foundation
import Nostr

/// Measures the cost of scanning and verifying events, as ratios in one run on one core: `swift run -c release
/// ScanBench`. With a file name, measures the cost of scanning its lines, each of which is an event.
@main
struct ScanBench {
    private let mix: EventMix
    private let verified = 4_000

    static func main() throws {
        if let file = CommandLine.arguments.dropFirst().first { return try scanLines(of: file) }
        try ScanBench(mix: EventMix(count: 40_000)).run()
    }

    private static func scanLines(of file: String) throws {
        let lines = [UInt8](try Data(contentsOf: URL(filePath: file))).split(separator: UInt8(ascii: "\n"))
        let size = lines.reduce(0) { $0 + $1.count } / max(1, lines.count)
        let nanoseconds = try Stopwatch.median(of: 5, per: lines.count) {
            var scanner = EventScanner()
            for line in lines { blackHole(try line.withUnsafeBytes { try scanner.scan($0).createdAt }) }
        }
        row("scan", nanoseconds, size)
    }

    private func run() throws {
        let count = mix.ranges.count
        let size = mix.bytes.count / count
        print("\(count) events, \(size) bytes each on average")
        try mix.bytes.withUnsafeBytes { bytes in
            let floor = Stopwatch.median(of: 5, per: count) { Self.blackHole(sumWords(bytes)) }
            let scan = try Stopwatch.median(of: 5, per: count) { try self.scan(bytes, mix.ranges[...]) }
            let id = try Stopwatch.median(of: 5, per: count) { try checkIDs(bytes, mix.ranges[...]) }
            Self.row("read every word (floor)", floor, size)
            Self.row("scan", scan, size)
            Self.row("scan + id", id, size)
            try runEnvelopes()

            let some = mix.ranges[..<verified]
            let signed = try some.map { try Event(json: UnsafeRawBufferPointer(rebasing: bytes[$0])) }
            var ratios: [Double] = []
            for _ in 0..<3 {
                let bare = Stopwatch.nanoseconds { bareVerify(signed) } / Double(verified)
                let whole = try Stopwatch.nanoseconds { try verify(bytes, some) } / Double(verified)
                Self.row("libsecp256k1: parse key + verify", bare, nil)
                Self.row("scan + id + verify", whole, nil)
                ratios.append(bare / whole)
            }
            print("matched events against libsecp256k1's bare verify: \(Self.rounded(ratios.sorted()[1], 3))")
        }
    }

    private func scan(_ bytes: UnsafeRawBufferPointer, _ ranges: ArraySlice<Range<Int>>) throws {
        var scanner = EventScanner()
        var values = 0
        for range in ranges {
            Self.blackHole(try scanner.scan(UnsafeRawBufferPointer(rebasing: bytes[range])).createdAt)
            values &+= scanner.pValues.count
        }
        Self.blackHole(values)
    }

    /// The same events as a relay sends them.
    private func runEnvelopes() throws {
        let messages = mix.ranges.prefix(10_000).map { Array("[\"EVENT\",\"notes\",".utf8) + mix.bytes[$0] + [0x5d] }
        let size = messages.reduce(0) { $0 + $1.count } / messages.count
        let nanoseconds = try Stopwatch.median(of: 5, per: messages.count) {
            var scanner = EventScanner()
            for message in messages {
                try message.withUnsafeBytes { bytes in
                    guard case .event(_, let range) = try ReceivedRelayMessage(bytes) else { return }
                    Self.blackHole(try scanner.scan(UnsafeRawBufferPointer(rebasing: bytes[range])).createdAt)
                }
            }
        }
        Self.row("relay's message: unwrap + scan", nanoseconds, size)
    }

    private func checkIDs(_ bytes: UnsafeRawBufferPointer, _ ranges: ArraySlice<Range<Int>>) throws {
        var scanner = EventScanner()
        let verifier = EventVerifier()
        for range in ranges {
            let json = UnsafeRawBufferPointer(rebasing: bytes[range])
            let event = try scanner.scan(json)
            guard verifier.hasRightID(event, in: json) else { throw EventError.wrongID }
        }
    }

    private func verify(_ bytes: UnsafeRawBufferPointer, _ ranges: ArraySlice<Range<Int>>) throws {
        var scanner = EventScanner()
        let verifier = EventVerifier()
        for range in ranges {
            let json = UnsafeRawBufferPointer(rebasing: bytes[range])
            let event = try scanner.scan(json)
            guard verifier.verify(event, in: json) == .valid else { throw EventError.wrongSignature }
        }
    }

    private func bareVerify(_ events: [Event]) {
        guard let context = secp256k1_context_create(UInt32(SECP256K1_CONTEXT_NONE)) else { return }
        defer { secp256k1_context_destroy(context) }
        var valid = 0
        for event in events {
            var key = secp256k1_xonly_pubkey()
            withUnsafeBytes(of: (event.pubkey.bytes, event.id.bytes, event.signature)) { bytes in
                guard let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress else { return }
                guard secp256k1_xonly_pubkey_parse(context, &key, start) == 1 else { return }
                valid += Int(secp256k1_schnorrsig_verify(context, start + 64, start + 32, 32, &key))
            }
        }
        precondition(valid == events.count, "every signature of the mix is valid")
    }

    @inline(never)
    private func sumWords(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var sum: UInt64 = 0
        for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
            sum &+= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        }
        return sum
    }

    private static func row(_ what: String, _ nanoseconds: Double, _ size: Int?) {
        let name = what.padding(to: 36)
        let rate = size.map { ", \(rounded(Double($0) / nanoseconds, 2)) GB/s" } ?? ""
        print("\(name) \(rounded(nanoseconds, 0)) ns/event, \(Int(1e9 / nanoseconds)) events/s\(rate)")
    }

    private static func rounded(_ value: Double, _ digits: Int) -> String {
        let scale = [1.0, 10, 100, 1000][digits]
        return "\((value * scale).rounded() / scale)"
    }

    /// Prevents the compiler from optimising the measured work away.
    private static func blackHole(_ value: some BinaryInteger) {
        precondition(value != 0, "the mix has no events that add up to nothing")
    }
}

extension String {
    fileprivate func padding(to length: Int) -> String {
        self + String(repeating: " ", count: max(0, length - count))
    }
}
