import PluginServices
import RandomTestSupport
import Testing

/// Values by numbers.
struct NumberTableTests {
    /// What the numbers of a run are like.
    enum Numbers: CaseIterable, Sendable {
        case inOrder, anywhere
        /// All want the same place, as somebody would choose them who means harm.
        case colliding
    }

    private func number(_ numbers: Numbers, _ step: UInt64, _ random: inout SeededGenerator) -> UInt64 {
        switch numbers {
        case .inOrder: step
        case .anywhere: random.below(.max)
        case .colliding: step << 40
        }
    }

    @Test(arguments: Numbers.allCases) func itHoldsWhatADictionaryHolds(numbers: Numbers) {
        var random = SeededGenerator(seed: 7)
        var table = NumberTable<String>()
        var dictionary: [UInt64: String] = [:]
        var known: [UInt64] = []
        // More comes than goes, and then the reverse, so that the table grows and shrinks.
        for step in 0..<20_000 as Range<UInt64> {
            let number = number(numbers, step, &random)
            if random.below(10) < (step < 8_000 ? 8 : 2) || known.isEmpty {
                let value = "\(step)"
                #expect(table.insert(value, for: number) == (dictionary[number] == nil))
                if dictionary.updateValue(dictionary[number] ?? value, forKey: number) == nil { known.append(number) }
            } else {
                let other = known.remove(at: Int(random.below(UInt64(known.count))))
                #expect(table[other] == dictionary[other])
                #expect(table.remove(other, if: { $0.isEmpty }) == nil)
                let change: Void? = table.update(other) { $0 += "!" }
                #expect(change != nil)
                #expect(table.remove(other) == dictionary.removeValue(forKey: other).map { $0 + "!" })
                #expect(table.remove(other) == nil && table[other] == nil)
            }
            #expect(table.count == dictionary.count && table.isEmpty == dictionary.isEmpty)
        }
        let all = table.all.sorted { $0.number < $1.number }.map(\.value)
        #expect(all == dictionary.sorted { $0.key < $1.key }.map(\.value))
    }

    @Test func aNumberKeepsItsFirstValue() {
        var table = NumberTable<Int>()
        // 16 wants the place of 0.
        #expect(table.insert(1, for: 0) && table.insert(2, for: 16))
        #expect(!table.insert(3, for: 0) && !table.insert(3, for: 16))
        #expect(table.remove(0) == 1)
        #expect(table.insert(3, for: 16) == false)
        #expect(table[16] == 2 && table[0] == nil && table[32] == nil)
        let change: Void? = table.update(32) { $0 += 1 }
        #expect(change == nil)
    }
}
