import Core
import Dispatch
import Synchronization
import Testing

@testable import CarillonRouter
@testable import Operations

@Suite(.timeLimit(.minutes(1)))
struct LivenessCheckTests {
    @Test func nobodyIsMissingWhenAllAnswer() async {
        let missing = await LivenessCheck.missing(
            [("a", { $0() }), ("b", { answer in DispatchQueue.global().async { answer() } })],
            within: .minutes(1)
        )
        #expect(missing.isEmpty)
    }

    @Test func namesWhoDoesNotAnswerInTime() async {
        let late = Mutex<(@Sendable () -> Void)?>(nil)
        let missing = await LivenessCheck.missing(
            [("a", { $0() }), ("c", { _ in }), ("b", { answer in late.withLock { $0 = answer } })],
            within: .milliseconds(1)
        )
        #expect(missing == ["b", "c"])
        // A late response has no effect.
        late.withLock { $0 }?()
    }

    @Test func theTimeMayBeOverBeforeAnybodyWaits() async {
        let missing = await LivenessCheck.missing([("a", { _ in })], within: .milliseconds(1)) { _, end in end() }
        #expect(missing == ["a"])
    }

    @Test func nobodyIsAsked() async {
        #expect(await LivenessCheck.missing([], within: .minutes(1)).isEmpty)
    }
}
