import Foundation
import JSON
import RandomTestSupport
import Testing

@testable import Nostr

/// Broken events, judged by Foundation's JSON parser and the rules of NIP-01 spelt out once more.
@Suite struct EventMutationTests {
    private enum Verdict {
        case event
        case noEvent
    }

    /// Bytes with a meaning in JSON or UTF-8.
    private static let telling =
        Array("\"\\{}[]:,019-+.eEpu \n\t/\u{0}\u{1f}\u{7f}aAfFgGdn".utf8) + [
            0x80, 0xbf, 0xc0, 0xe0, 0xed, 0xf0, 0xf4, 0xff,
        ]

    @Test func mutatedEventsAreJudgedAsFoundationJudgesThem() throws {
        var random = SeededGenerator(seed: 20_261_121)
        var events = 0
        var policies = 0
        let runs = 12_000
        for run in 0..<runs {
            let json = mutate(EventSample.varied[run % EventSample.varied.count], &random)
            let (decision, error) = scan(json)
            let judged = judge(json)
            if decision == .event { events += 1 }
            guard decision != judged else { continue }
            let isPolicy = decision == .noEvent && isStricterByPolicy(error, json)
            #expect(isPolicy, "\(String(decoding: json, as: UTF8.self)): \(decision), \(String(describing: error))")
            policies += 1
        }
        // Both verdicts must be common, and disagreement rare, or the comparison would prove little.
        #expect(events > runs / 10)
        #expect(events < runs * 9 / 10)
        #expect(policies < runs / 20)
    }

    @Test func mutatedEventsThatPassSayTheSameAsFoundationReads() throws {
        var random = SeededGenerator(seed: 7)
        var compared = 0
        for run in 0..<4_000 {
            let json = mutate(EventSample.varied[run % EventSample.varied.count], &random)
            guard let event = try? Event(json: json),
                let object = try? JSONSerialization.jsonObject(with: Data(json)) as? [String: Any]
            else { continue }
            compared += 1
            #expect(event.content == object["content"] as? String)
            #expect(event.tags == object["tags"] as? [[String]])
            #expect(event.createdAt == (object["created_at"] as? NSNumber)?.int64Value)
            // The canonical form reads the same with either parser.
            #expect(try Event(json: event.json) == event)
            let written = try JSONSerialization.jsonObject(with: Data(event.json)) as? [String: Any]
            #expect(written?["content"] as? String == event.content)
            #expect(written?["tags"] as? [[String]] == event.tags)
        }
        #expect(compared > 400)
    }

    @Test func canonicalBytesAreTheSameFromTheScanAndFromTheEvent() throws {
        var random = SeededGenerator(seed: 11)
        var compared = 0
        for run in 0..<4_000 {
            let json = mutate(EventSample.varied[run % EventSample.varied.count], &random)
            try withExactBuffer(json) { bytes in
                var scanner = EventScanner()
                guard let scanned = try? scanner.scan(bytes) else { return }
                let event = try Event(scanned: scanned, in: bytes)
                for spelling in [JSONSpelling.escaped, .verbatim] {
                    var text = JSONText(spelling: spelling)
                    try text.appendCanonical(scanned, in: bytes)
                    #expect(text.bytes == event.canonicalBytes(as: spelling))
                }
                compared += 1
            }
        }
        #expect(compared > 400)
    }

    private func mutate(_ json: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var json = json
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let at = Int.random(in: 0..<json.count, using: &random)
            let to = min(json.count, at + Int.random(in: 1...6, using: &random))
            let byte = Self.telling.randomElement(using: &random) ?? 0
            switch Int.random(in: 0..<6, using: &random) {
            case 0: json[at] = byte
            case 1: json.insert(byte, at: at)
            case 2: json.remove(at: at)
            case 3: json[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 4: json.insert(contentsOf: json[at..<to], at: at)
            default: json.removeSubrange(at..<to)
            }
        }
        return json
    }

    private func scan(_ json: [UInt8]) -> (Verdict, EventError?) {
        withExactBuffer(json) { bytes in
            var scanner = EventScanner()
            // Scanning only the kind must give the same result.
            let kind = Result { () throws(EventError) in try scanner.kind(of: bytes) }
            let pValues = scanner.pValues
            do throws(EventError) {
                let event = try scanner.scan(bytes)
                #expect(kind == .success(event.kind))
                #expect(scanner.pValues == pValues)
                return (.event, nil)
            } catch {
                #expect(kind == .failure(error))
                return (.noEvent, error)
            }
        }
    }

    private func judge(_ json: [UInt8]) -> Verdict {
        guard String(validating: json, as: UTF8.self) != nil,
            let object = try? JSONSerialization.jsonObject(with: Data(json)) as? [String: Any],
            isHex(object["id"], 64), isHex(object["pubkey"], 64), isHex(object["sig"], 128),
            object["content"] is String,
            isInteger(object["kind"], to: 65535), isInteger(object["created_at"], to: Double(Int64.max)),
            let tags = object["tags"] as? [Any], tags.allSatisfy({ ($0 as? [Any])?.isEmpty == false }),
            tags.allSatisfy({ ($0 as? [Any])?.allSatisfy { $0 is String } == true })
        else { return .noEvent }
        return .event
    }

    private func isHex(_ value: Any?, _ count: Int) -> Bool {
        guard let text = value as? String, text.utf8.count == count else { return false }
        return text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private func isInteger(_ value: Any?, to limit: Double) -> Bool {
        // 0 and 1 bridge to Bool; only the underlying type distinguishes them from true and false.
        guard let number = value as? NSNumber, String(cString: number.objCType) != "c" else { return false }
        return number.doubleValue >= 0 && number.doubleValue <= limit
            && number.doubleValue.rounded() == number.doubleValue
    }

    /// Cases in which the scanner is stricter on purpose: repeated fields, which parsers read differently; whole
    /// numbers with other characters than digits; commas before a closing bracket, which Foundation on Linux accepts.
    private func isStricterByPolicy(_ error: EventError?, _ json: [UInt8]) -> Bool {
        let text = String(decoding: json, as: UTF8.self)
        switch error {
        case .repeated(let field): return text.components(separatedBy: field.name).count > 2
        case .wrong(.kind): return hasOddNumber(after: "kind", text)
        case .wrong(.createdAt): return hasOddNumber(after: "created_at", text)
        case .wrong(.tags), .malformed: return text.contains(/,\s*[\]}]/)
        default: return false
        }
    }

    private func hasOddNumber(after key: String, _ text: String) -> Bool {
        guard let start = text.range(of: key + "\"")?.upperBound else { return false }
        let number = text[start...].drop { " :\n\t".contains($0) }.prefix { !",} \n\t".contains($0) }
        return number.contains { ".eE-".contains($0) }
    }
}
