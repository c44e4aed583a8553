import Core
import Testing
import TimeTestSupport

@testable import PluginHost

/// Answers that the router expects from a plugin.
struct AwaitedAnswersTests {
    @Test func expiredCommandsAreForgottenInTheEnd() {
        var commands = AwaitedAnswers<Int>(limit: 64)
        var numbers: [UInt64] = []
        for round in 0..<3 {
            for index in 0..<64 {
                guard let number = commands.open(64 * round + index, deadline: 5) else { break }
                numbers.append(number)
            }
            let (further, early) = (commands.open(-1, deadline: 5), commands.expire(now: 4))
            #expect(further == nil && early.isEmpty)
            #expect(commands.expire(now: 5) == Array(64 * round..<64 * (round + 1)))
            #expect(commands.count == 0)
        }
        #expect(Set(numbers).count == 3 * 64)
        let newest = numbers[numbers.count - 1]
        let ends = [commands.end(numbers[0]), commands.end(newest), commands.end(newest)].map { "\($0)" }
        #expect(ends == ["unknown", "late", "unknown"])
    }
}
