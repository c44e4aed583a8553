import Cipher
import Nostr
import Testing
import TimeTestSupport

@testable import Pipeline

/// Several threads must give the same result as a single thread, which verifies nothing ahead.
@Suite struct SignatureLookaheadTests {
    private let alice: KeyPair

    init() throws {
        alice = try KeyPair(random: SecureRandom.bytes)
    }

    private func forged(_ event: Event) -> Event {
        var forged = event
        forged.signature.first = Bytes32(words: (1, 2, 3, 4))
        return forged
    }

    /// Returns the verdicts on events of all sorts that come in portions of that size.
    private func decisions(
        threads: Int,
        from source: EventSource,
        inPortionsOf size: Int
    ) throws -> [EventDecision.Result] {
        let bench = try Workbench(threads: threads)
        let owner = try bench.account()
        let late = try KeyPair(random: SecureRandom.bytes)
        func note(_ text: String, to keys: KeyPair, at moment: Int64 = Workbench.time) throws -> Event {
            try bench.event(.textNote, text, tags: [["p", keys.publicKey.hex]], by: alice, at: moment)
        }
        var events: [Event] = []
        for number in 0..<2 * SignatureLookahead.window {
            let real = try note("\(number)", to: owner)
            switch number % 8 {
            case 0: events += [forged(real), real, real, forged(real)]
            case 1: events.append(forged(real))
            case 2: events.append(try note("ahead \(number)", to: owner, at: Workbench.time + 1000))
            case 3: events.append(try note("stranger \(number)", to: alice))
            case 4:
                var other = real
                other.content += "!"
                events.append(other)
            default: events.append(real)
            }
        }
        // It counts for the events behind it, which were looked at before it did.
        let token = String(repeating: "ab", count: 32)
        let content = "{\"token\":\"\(token)\",\"platform\":\"ios\",\"filters\":{\"mention\":true}}"
        events.insert(try bench.registration(of: late, content), at: 40)
        events.insert(try note("to the late one", to: late), at: 45)
        let answer = Answer()
        let portions = stride(from: 0, to: events.count, by: size).map { first in
            let events = events[first..<min(first + size, events.count)].map(\.json)
            return Arrivals(submissions: [Submission(events: events, source: source, completion: answer.take)])
        }
        for (number, portion) in portions.enumerated() {
            bench.pipeline?.process(portion, before: number + 1 < portions.count ? portions[number + 1] : nil)
        }
        let results = answer.allResults
        // Half of them, and the late author's event.
        #expect(bench.kept.count == SignatureLookahead.window + 1)
        return results
    }

    @Test(arguments: [EventSource.socket(authenticated: []), .feed])
    func severalThreadsGiveTheSameVerdicts(_ source: EventSource) throws {
        let alone = try decisions(threads: 1, from: source, inPortionsOf: .max / 2)
        #expect(try decisions(threads: 4, from: source, inPortionsOf: .max / 2) == alone)
        #expect(Set(alone.map { "\($0)" }).count > 3)
    }

    @Test(arguments: [7, 64])
    func lookaheadGivesTheSameVerdicts(_ size: Int) throws {
        let alone = try decisions(threads: 1, from: .feed, inPortionsOf: .max / 2)
        #expect(try decisions(threads: 4, from: .feed, inPortionsOf: size) == alone)
    }

    @Test func looksAheadOnlyWhereItSavesWork() {
        let alone = SignatureLookahead(threads: 1)
        #expect(!alone.isWorthwhile)
        let several = SignatureLookahead(threads: 2)
        #expect(several.isWorthwhile)
        for _ in 0..<SignatureLookahead.window { several.note(isChecked: false) }
        #expect(!several.isWorthwhile)
        for number in 0..<SignatureLookahead.window { several.note(isChecked: number % 8 == 0) }
        #expect(several.isWorthwhile)
    }

    @Test func verdictsKeepTheirOrder() throws {
        let bench = try Workbench()
        var scanner = EventScanner()
        var expected: [Verification] = []
        var candidates: [SignatureLookahead.Candidate] = []
        for number in 0..<50 {
            let real = try bench.event(.textNote, "\(number)", by: alice)
            let isForged = number % 3 == 0
            let json = (isForged ? forged(real) : real).json
            let event = try json.withUnsafeBytes { try scanner.scan($0) }
            expected.append(isForged ? .wrongSignature : .valid)
            candidates.append(SignatureLookahead.Candidate(event: event, json: json))
        }
        let checks = SignatureChecks(candidates)
        let verifiers = (0..<3).map { _ in EventVerifier() }
        checks.begin(on: verifiers.dropFirst())
        #expect(checks.finish(with: verifiers[0]) == expected)
    }

    @Test func emptyCheckFinishesImmediately() {
        let checks = SignatureChecks([])
        checks.begin(on: [EventVerifier()])
        #expect(checks.finish(with: EventVerifier()).isEmpty)
    }
}
