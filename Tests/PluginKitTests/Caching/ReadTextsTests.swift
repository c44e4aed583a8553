import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

struct ReadTextsTests {
    private struct Unreadable: Error {}

    private let arena = ABIArena()
    private let texts = ReadTexts<String>(capacity: 2, longest: 8)

    /// Returns the value of the text, and whether it had to be parsed.
    private func read(_ text: String) -> (value: String, isRead: Bool) {
        var isRead = false
        let value = texts.value(of: BorrowedText(arena.text(text))) { text in
            isRead = true
            return text.string + "!"
        }
        return (value, isRead)
    }

    @Test func repeatedTextIsReadAtMostTwice() {
        #expect((1...5).map { _ in read("same").isRead } == [true, true, false, false, false])
        #expect(read("same").value == "same!")
        #expect(read("Same").value == "Same!")
        #expect(read("").value == "!")
    }

    @Test func textsReadOnceEvictNoOthers() {
        _ = (read("a"), read("a"), read("b"), read("b"))
        for number in 0..<1000 {
            #expect(read("\(number)").value == "\(number)!")
        }
        #expect(!read("a").isRead)
        #expect(!read("b").isRead)
        #expect(read("c").isRead)
        #expect(read("c").isRead)
        #expect(!read("c").isRead)
        #expect(read("a").isRead)
    }

    @Test func longTextsAreReadEachTime() {
        #expect((1...3).map { _ in read("123456789").isRead } == [true, true, true])
        #expect((1...3).map { _ in read("12345678").isRead } == [true, true, false])
    }

    @Test func failuresAreNotRemembered() throws {
        let text = BorrowedText(arena.text("bad"))
        for _ in 1...3 {
            #expect(throws: Unreadable.self) {
                try texts.value(of: text) { _ throws(Unreadable) in throw Unreadable() }
            }
        }
        #expect(read("bad").value == "bad!")
    }
}
