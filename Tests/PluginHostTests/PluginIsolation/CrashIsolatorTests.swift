import CostTestSupport
import RandomTestSupport
import Testing

@testable import PluginHost

/// Deliveries in progress at a crash are retried one at a time until the one that caused it is found.
struct CrashIsolatorTests {
    @Test func nothingGoesBesideTheLastSuspect() {
        var suspects = CrashIsolator<Int>()
        #expect(suspects.next() == .anything)
        #expect(suspects.died(hand: [1, 2]) == nil)
        #expect(suspects.next() == .alone(1))
        #expect(suspects.next() == .nothing)
        suspects.ended(1)
        #expect(suspects.next() == .alone(2))
        #expect(suspects.next() == .nothing && !suspects.isQuiet)
        suspects.ended(2)
        #expect(suspects.next() == .anything && suspects.isQuiet)
    }

    @Test func theSecondDeathAloneProves() {
        var suspects = CrashIsolator<Int>()
        #expect(suspects.died(hand: [1, 2, 3], named: 2) == nil)
        #expect(suspects.next() == .alone(2))
        #expect(suspects.died(hand: [2]) == nil)
        #expect(suspects.next() == .alone(1))
        suspects.ended(1)
        #expect(suspects.next() == .alone(3))
        suspects.ended(3)
        #expect(suspects.next() == .alone(2))
        #expect(suspects.died(hand: [2]) == 2)
        #expect(suspects.next() == .anything)
    }

    @Test func aNameThatWasNotInHandIsIgnored() {
        var suspects = CrashIsolator<Int>()
        #expect(suspects.died(hand: [1], named: 7) == nil)
        #expect(suspects.next() == .alone(1))
    }

    @Test func oneThatIsNotReadyLetsTheNextGoFirst() {
        var suspects = CrashIsolator<Int>()
        _ = suspects.died(hand: [1, 2])
        #expect(suspects.next { $0 != 1 } == .alone(2))
        suspects.ended(2)
        #expect(suspects.next { $0 != 1 } == .nothing)
        #expect(suspects.next() == .alone(1))
    }

    @Test func oneThatEndsWhileItWaitsIsForgotten() {
        var suspects = CrashIsolator<Int>()
        _ = suspects.died(hand: [1, 2])
        suspects.ended(1)
        #expect(suspects.next() == .alone(2))
        suspects.ended(2)
        #expect(suspects.next() == .anything)
    }

    /// Deliveries that crash immediately or later, crashes without a cause, and missing or wrong crash reports.
    @Test(arguments: 0..<10) func everyScheduleEndsWithAllPoisonsFound(part: UInt64) {
        for seed in part * 1_000..<part * 1_000 + UInt64(TestLength.rounds(60, long: 1_000)) {
            var schedule = Schedule(seed: seed)
            schedule.run()
            if let flaw = schedule.flaw {
                Issue.record("seed \(seed): \(flaw)")
                return
            }
        }
    }
}

/// A run of deliveries, some of which crash the process.
private struct Schedule {
    private struct Delivery {
        /// Steps until the delivery ends or crashes the process.
        let work: Int
        let isPoison: Bool
        var handOuts = 0
        var deathsInHand = 0
        /// Crashes while it was tried separately, as a suspect.
        var deathsAlone = 0
        var ends = 0
        var isAbandoned = false
    }

    private var random: SeededGenerator
    private var deliveries: [Delivery] = []
    private let window: Int
    private let flakiness: Double
    private var fresh = 0
    private var hand: [(id: Int, rest: Int)] = []
    private var suspects = CrashIsolator<Int>()
    private(set) var flaw: String?

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        let count = Int.random(in: 5...400, using: &random)
        window = Int.random(in: 1...64, using: &random)
        flakiness = [0, 0.0005, 0.005][Int.random(in: 0..<3, using: &random)]
        let poisons = Set(
            (0..<Int.random(in: 0...6, using: &random)).map { _ in Int.random(in: 0..<count, using: &random) }
        )
        let killsAtOnce = Bool.random(using: &random)
        for id in 0..<count {
            let isPoison = poisons.contains(id)
            let work = isPoison && killsAtOnce ? 0 : Int.random(in: 0...8, using: &random)
            deliveries.append(Delivery(work: work, isPoison: isPoison))
        }
    }

    mutating func run() {
        for _ in 0..<100_000 where flaw == nil {
            handOut()
            if hand.isEmpty { return finish() }
            step()
        }
        flaw = flaw ?? "it does not end"
    }

    private mutating func handOut() {
        while true {
            switch suspects.next() {
            case .nothing: return
            case .alone(let id): give(id)
            case .anything:
                while hand.count < window, fresh < deliveries.count {
                    give(fresh)
                    fresh += 1
                }
                return
            }
        }
    }

    private mutating func give(_ id: Int) {
        deliveries[id].handOuts += 1
        if deliveries[id].handOuts > deliveries[id].deathsInHand + 1 { flaw = "\(id) is repeated without a death" }
        hand.append((id, deliveries[id].work))
    }

    private mutating func step() {
        if let killer = hand.first(where: { deliveries[$0.id].isPoison && $0.rest == 0 })?.id { return die(killer) }
        if Double.random(in: 0..<1, using: &random) < flakiness { return die(nil) }
        for entry in hand where entry.rest == 0 {
            deliveries[entry.id].ends += 1
            suspects.ended(entry.id)
        }
        hand = hand.filter { $0.rest > 0 }.map { ($0.id, $0.rest - 1) }
    }

    private mutating func die(_ killer: Int?) {
        let ids = hand.map(\.id)
        hand = []
        for id in ids { deliveries[id].deathsInHand += 1 }
        if suspects.isTrying { deliveries[ids[0]].deathsAlone += 1 }
        let named: Int? =
            switch Double.random(in: 0..<1, using: &random) {
            case ..<0.5: nil
            case ..<0.55: Int.random(in: 0..<deliveries.count, using: &random)
            default: killer
            }
        if let aside = suspects.died(hand: ids, named: named) { deliveries[aside].isAbandoned = true }
    }

    private mutating func finish() {
        for (id, delivery) in deliveries.enumerated() {
            if delivery.isPoison {
                if !delivery.isAbandoned || delivery.ends > 0 { flaw = "poison \(id) was not set aside" }
                if delivery.deathsAlone != 2 { flaw = "poison \(id) killed alone \(delivery.deathsAlone) times" }
            } else if delivery.isAbandoned {
                if flakiness == 0 { flaw = "healthy \(id) was set aside" }
                if delivery.ends > 0 { flaw = "\(id) ended and was set aside" }
            } else if delivery.ends != 1 {
                flaw = "\(id) ended \(delivery.ends) times"
            }
        }
    }
}
