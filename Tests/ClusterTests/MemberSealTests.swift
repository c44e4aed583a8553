import Synchronization
import Testing

@testable import Cluster

struct MemberSealTests {
    @Test func onlyMembersWithTheSecretAreAccepted() {
        let passed = Atomic<Int>(0)
        let seal = MemberSeal(secret: [1, 2, 3]) { passed.add(1, ordering: .relaxed) }
        let sealed = seal.seal([7, 8], for: "c.log.1")
        #expect(sealed.count == 2 + MemberSeal.size)
        #expect(MemberSeal(secret: [1, 2, 3]).open(sealed, of: "c.log.1") == [7, 8])
        #expect(seal.open(seal.seal([], for: "a"), of: "a") == [])
        #expect(seal.passedOver == 0)
        // No bytes, garbage, another subject, another secret, a changed byte.
        var changed = sealed
        changed[0] = 9
        let others: [[UInt8]] = [
            [], [1, 2, 3], [UInt8](repeating: 0, count: 40), seal.seal([7, 8], for: "c.log.2"),
            MemberSeal(secret: [1, 2]).seal([7, 8], for: "c.log.1"), changed,
        ]
        for bytes in others { #expect(seal.open(bytes, of: "c.log.1") == nil) }
        #expect(seal.passedOver == others.count)
        #expect(passed.load(ordering: .relaxed) == others.count)
    }
}
