import Testing

@testable import CarillonLab

struct ScriptTests {
    private func hits(_ script: inout Script, _ count: Int) -> [Bool] {
        (0..<count).map { _ in script.next(.apns, "") != nil }
    }

    @Test func lotsFallTheSameForTheSameSeed() {
        var first = Script([Misbehaviour(.close, share: 0.1, seed: 7)])
        var second = first
        var other = Script([Misbehaviour(.close, share: 0.1, seed: 8)])
        let drawn = hits(&first, 10_000)
        #expect(drawn == hits(&second, 10_000))
        #expect(drawn != hits(&other, 10_000))
        // Three standard deviations of a binomial distribution around 1000.
        #expect((910...1_090).contains(drawn.count { $0 }))
    }

    @Test(arguments: [(0.0, 0), (1.0, 1_000)]) func nothingAndEverythingAreShares(_ share: Double, _ count: Int) {
        var script = Script([Misbehaviour(.close, share: share, seed: 1)])
        #expect(hits(&script, 1_000).count { $0 } == count)
    }

    @Test func burstsComeInARow() {
        var script = Script([Misbehaviour(.close, share: 0.01, seed: 3, burst: 20)])
        let runs = hits(&script, 20_000).split(separator: false)
        #expect(runs.count > 50)
        #expect(runs.dropLast().allSatisfy { $0.count % 20 == 0 })
    }

    @Test func whoTheLotSparesMeetsTheNext() {
        var script = Script([Misbehaviour(.close, share: 0, seed: 1), Misbehaviour(.silence)])
        #expect(script.next(.apns, "") == .silence)
        #expect(script.next(.apns, "") == nil)
    }

    @Test func tellsWhatIsStillToCome() {
        var script = Script([Misbehaviour(.close, after: 2, times: 3), Misbehaviour(.silence, service: .fcm)])
        for _ in 0..<3 { _ = script.next(.apns, "") }
        #expect(script.pending == [Misbehaviour(.close, times: 2), Misbehaviour(.silence, service: .fcm)])
    }
}
