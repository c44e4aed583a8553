import Testing
import TimeTestSupport
import Units

@testable import PluginHost

struct CallContextTests {
    @Test(arguments: [(0, 1), (1, 1), (1 << 23 - 1, 1 << 40 - 1), (7, 4711)])
    func comesBackAsItWent(bridge: Int, number: UInt64) {
        let context = CallContext(bridge: bridge, number: number)
        #expect(CallContext(context.pointer) == context)
    }

    @Test(arguments: [(0, 0), (-1, 1), (1 << 23, 1), (0, 1 << 40)])
    func hasNoPointerForWhatWouldNotFit(bridge: Int, number: UInt64) {
        #expect(CallContext(bridge: bridge, number: number).pointer == nil)
    }

    @Test func nothingIsNoContext() {
        #expect(CallContext(nil) == nil)
    }

    @Test func expiredCommandsAreForgottenInTheEnd() {
        var commands = AwaitedAnswers(limit: 64)
        var numbers: [UInt64] = []
        for _ in 0..<3 {
            for _ in 0..<64 {
                guard let number = commands.open(deadline: 5) else { break }
                numbers.append(number)
            }
            let (further, early) = (commands.open(deadline: 5), commands.expire(now: 4))
            #expect(further == nil && early.isEmpty)
            let due = commands.expire(now: 5)
            #expect(due == numbers.suffix(64))
            #expect(commands.isEmpty)
        }
        #expect(Set(numbers).count == 3 * 64)
        let newest = numbers[numbers.count - 1]
        let ends = [commands.end(numbers[0]), commands.end(newest), commands.end(newest)]
        #expect(ends == [.unknown, .late, .unknown])
    }
}
