import PluginKit
import PluginTestSupport
import Testing

@testable import APNsTransport

struct TokenMemoryTests {
    private func with<Result>(_ token: String, _ use: (BorrowedText) throws -> Result) rethrows -> Result {
        try SampleRegistration(token: token).withABI { try use(Registration($0).token) }
    }

    @Test func remembersTheLatestAndIsBounded() {
        let memory = TokenMemory<Int>(capacity: 10)
        #expect(with("0") { memory.value(of: $0) } == nil)
        for number in 0..<1000 {
            with("\(number)") { memory.remember(number, of: TokenKey($0)) }
        }
        let known = (0..<1000).filter { (number: Int) in with("\(number)") { memory.value(of: $0) } == number }
        #expect((10...20).contains(known.count))
        #expect(known == Array((1000 - known.count)..<1000))
    }

    @Test func theLatestWordCounts() {
        let memory = TokenMemory<Int>(capacity: 2)
        for value in 0..<10 {
            with("a") { memory.remember(value, of: TokenKey($0)) }
            with("b\(value)") { memory.remember(value, of: TokenKey($0)) }
            #expect(with("a") { memory.value(of: $0) } == value)
        }
    }
}
