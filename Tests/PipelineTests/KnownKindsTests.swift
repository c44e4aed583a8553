import Nostr
import Notifications
import Testing

@testable import Pipeline
@testable import Rules

/// Rules files are checked against what the match stage makes of each kind.
@Suite struct KnownKindsTests {
    @Test func rulesKnowTheKindsThatHaveASignal() throws {
        let author = try Workbench.keys().publicKey
        let account = try Workbench.keys().publicKey
        let bench = try Workbench()
        let alice = try Workbench.keys()
        var event = try bench.event(.textNote, "", tags: [["p", account.hex]], by: alice)
        event.pubkey = author
        for number in UInt16.min...UInt16.max where Kind(number) != .zapReceipt {
            event.kind = Kind(number)
            let concern = try Relevance.classify(event, for: account)
            #expect((concern.signal != nil) == KnownKinds.withSignal.contains(number), "kind \(number)")
            if let signal = concern.signal { #expect(KnownKinds.kinds(of: signal).contains(number), "kind \(number)") }
            #expect((concern.relation == nil) == KnownKinds.withoutRelation.contains(number), "kind \(number)")
        }
        #expect(KnownKinds.withSignal.contains(Kind.zapReceipt.rawValue))
        let all = Signal.wellKnown.reduce(into: Set<UInt16>()) { $0.formUnion(KnownKinds.kinds(of: $1)) }
        #expect(all == KnownKinds.withSignal)
    }
}
