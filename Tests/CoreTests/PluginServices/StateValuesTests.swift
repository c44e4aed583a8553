import Core
import RandomTestSupport
import Testing

/// Limits of kept values, and copies of them in processes.
struct StateValuesTests {
    /// Values that expressions under test can change.
    private final class Values {
        private var values = StateValues()

        var entries: [StateEntry] { values.entries }

        subscript(key: String) -> [UInt8]? { values[Array(key.utf8)] }

        func set(_ entry: StateEntry) -> Bool { values.set(entry) }
    }

    private func entry(_ key: String, _ value: String) -> StateEntry {
        StateEntry(key: Array(key.utf8), value: Array(value.utf8))
    }

    private func entry(_ key: String, bytes: Int) -> StateEntry {
        StateEntry(key: Array(key.utf8), value: [UInt8](repeating: 7, count: bytes))
    }

    @Test func anEmptyValueRemovesTheKey() {
        let values = Values()
        #expect(values.set(entry("a", "1")) && values.set(entry("b", "2")) && values.set(entry("a", "3")))
        #expect(values.entries == [entry("a", "3"), entry("b", "2")])
        #expect(values.set(entry("a", "")) && values.set(entry("c", "")))
        #expect(values.entries == [entry("b", "2")])
        #expect(values["a"] == nil)
    }

    @Test func entriesHaveLimits() {
        let values = Values()
        #expect(!values.set(entry("", "1")) && !values.set(entry("ä", "1")) && !values.set(entry("a\n", "1")))
        let longest = String(repeating: "k", count: 64)
        #expect(values.set(entry(longest, "1")) && !values.set(entry(longest + "k", "1")))
        #expect(values.set(entry("a", bytes: 16 << 10)) && !values.set(entry("b", bytes: (16 << 10) + 1)))
        #expect(values.entries.count == 2)
    }

    @Test func keysAreLimited() {
        let values = Values()
        for number in 0..<256 { #expect(values.set(entry("\(number)", "1"))) }
        #expect(!values.set(entry("one more", "1")))
        #expect(values.set(entry("one more", "")) && values.set(entry("0", "2")))
        #expect(values.set(entry("0", "")) && values.set(entry("one more", "1")))
    }

    @Test func allValuesTogetherHaveALimit() {
        let values = Values()
        for number in 0..<16 { #expect(values.set(entry("\(number)", bytes: 16 << 10))) }
        #expect(!values.set(entry("more", "1")))
        #expect(values.set(entry("0", bytes: 1)) && values.set(entry("more", "1")))
        #expect(StateValues(values.entries).entries == values.entries)
    }

    @Test func changesFromElsewhereDoNotUndoNewerOnes() {
        var copy = StateCopy([entry("a", "0"), entry("b", "0")])
        let number = copy.set(entry("a", "1"))
        #expect(number == 1)
        // The router had not handled the change when the other instance made its own.
        copy.receive([entry("a", "other"), entry("b", "other")], handled: 0, isWhole: false)
        #expect(copy[Array("a".utf8)] == Array("1".utf8) && copy[Array("b".utf8)] == Array("other".utf8))
        copy.receive([entry("a", "later")], handled: 1, isWhole: false)
        #expect(copy[Array("a".utf8)] == Array("later".utf8))
    }

    @Test func routersStateReplacesTheCopy() {
        var copy = StateCopy([entry("a", "0"), entry("b", "0")])
        let numbers = [copy.set(entry("c", "1")), copy.set(entry("d", "1"))]
        #expect(numbers == [1, 2])
        copy.receive([entry("a", "2")], handled: 1, isWhole: true)
        #expect(copy[Array("a".utf8)] == Array("2".utf8))
        #expect(copy[Array("b".utf8)] == nil && copy[Array("c".utf8)] == nil)
        #expect(copy[Array("d".utf8)] == Array("1".utf8))
    }

    /// Two copies and the router, whose messages arrive in order and late: in the end all have the same values.
    @Test(arguments: 0..<100 as Range<UInt64>) func copiesConverge(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var truth = StateValues()
        var copies = [StateCopy([]), StateCopy([])]
        var toRouter: [[(entry: StateEntry, number: UInt64)]] = [[], []]
        var toCopy: [[(entry: StateEntry, handled: UInt64)]] = [[], []]
        var handled: [UInt64] = [0, 0]
        func step(_ which: Int, _ action: UInt64) {
            switch action {
            case 0:
                let change = entry("\(random.below(3))", random.below(3) == 0 ? "" : "\(which) \(random.below(1_000))")
                guard let number = copies[which].set(change) else { return }
                toRouter[which].append((change, number))
            case 1 where !toRouter[which].isEmpty:
                let (change, number) = toRouter[which].removeFirst()
                handled[which] = number
                let isTaken = truth.set(change)
                #expect(isTaken)
                toCopy[1 - which].append((change, handled[1 - which]))
            case 2 where !toCopy[which].isEmpty:
                let (change, handled) = toCopy[which].removeFirst()
                copies[which].receive([change], handled: handled, isWhole: false)
            default: break
            }
        }
        for _ in 0..<300 { step(Int(random.below(2)), random.below(3)) }
        for action: UInt64 in [1, 2] {
            for which in 0...1 { for _ in 0..<300 { step(which, action) } }
        }
        for key in ["0", "1", "2"] {
            let kept = truth[Array(key.utf8)]
            #expect(copies[0][Array(key.utf8)] == kept && copies[1][Array(key.utf8)] == kept)
        }
    }
}
