import Foundation
import RandomTestSupport
import Testing

@testable import Nostr

/// Broken messages: each accepted one must be JSON to Foundation, and read the same there.
@Suite struct MessageMutationTests {
    private static let request = Array(
        ##"["REQ","s\u0061b",{"kinds":[1,7],"#t":["é","x\n"],"limit":5,"x":{"y":[1,null]}},{"since":1,"until":20}]"##
            .utf8
    )
    private static let answers = [
        #"["OK","\#(EventID.first.hex)",true,"duplicate: \u00e9 \ud83d\ude00"]"#,
        #"["CLOSED","sub","error: \"shut\""]"#,
        #"["NOTICE","a\/b"]"#, #"["EOSE","sub"]"#, #"["AUTH","challenge"]"#,
    ].map { Array($0.utf8) }
    private static let telling = Array("\"\\{}[]:,019-.eu \n\u{0}\u{1f}#tA".utf8) + [0x80, 0xc0, 0xed, 0xff]

    @Test func mutatedRequestsThatPassAreRequestsToFoundation() throws {
        var random = SeededGenerator(seed: 3)
        var passed = 0
        for _ in 0..<6_000 {
            let json = mutate(Self.request, &random)
            guard case .request(let subscription, let filters)? = try? withExactBuffer(json, { try ClientMessage($0) })
            else { continue }
            passed += 1
            let read = try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [Any])
            #expect(read.first as? String == "REQ")
            #expect(read[1] as? String == subscription.name)
            #expect(read.count == filters.count + 2)
            for (filter, object) in zip(filters, read.dropFirst(2)) {
                let fields = try #require(object as? [String: Any])
                #expect(filter.limit == (fields["limit"] as? NSNumber)?.intValue)
                #expect(filter.since == (fields["since"] as? NSNumber)?.int64Value)
                #expect(filter.kinds == (fields["kinds"] as? [Int]).map { Set($0.map { Kind(UInt16($0)) }) })
                #expect(filter.tags["t"] == (fields["#t"] as? [String]).map(Set.init))
            }
        }
        #expect(passed > 300)
        #expect(passed < 5_000)
    }

    @Test func mutatedAnswersThatPassReadTheSameInFoundation() throws {
        var random = SeededGenerator(seed: 4)
        var passed = 0
        for run in 0..<6_000 {
            let json = mutate(Self.answers[run % Self.answers.count], &random)
            guard let message = try? withExactBuffer(json, { try ReceivedRelayMessage($0) }) else { continue }
            passed += 1
            let read = try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [Any])
            switch message {
            case .ok(let id, let isAccepted, let text):
                #expect(read[1] as? String == id.hex)
                #expect(read[2] as? Bool == isAccepted)
                #expect(read[3] as? String == text)
            case .closed(let subscription, let text):
                #expect(read[1] as? String == subscription.name)
                #expect(read[2] as? String == text)
            case .endOfStoredEvents(let subscription): #expect(read[1] as? String == subscription.name)
            case .notice(let text), .authenticate(let text): #expect(read[1] as? String == text)
            case .event: Issue.record("there is no event in \(String(decoding: json, as: UTF8.self))")
            }
        }
        #expect(passed > 300)
        #expect(passed < 5_000)
    }

    private func mutate(_ json: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var json = json
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            let at = Int.random(in: 0..<json.count, using: &random)
            let to = min(json.count, at + Int.random(in: 1...6, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0: json[at] = Self.telling.randomElement(using: &random) ?? 0
            case 1: json.insert(Self.telling.randomElement(using: &random) ?? 0, at: at)
            case 2: json.insert(contentsOf: json[at..<to], at: at)
            default: json.removeSubrange(at..<to)
            }
        }
        return json
    }
}
