import Testing

@testable import HTTPLanes

struct OriginInboxTests {
    private let answers = Answers()

    private func spent(_ numbers: ClosedRange<Int>) throws -> [Exchange] {
        try numbers.map { number in
            let exchange = try #require(answers.exchange(number))
            exchange.complete(.success(HTTPResponse(status: 200)))
            return exchange
        }
    }

    @Test func eachSenderTakesOneOfThoseThatAreDoneWith() throws {
        var inbox = OriginInbox()
        #expect(inbox.takeSpent() === nil)
        let exchanges = try spent(1...2)
        inbox.keep(exchanges)
        #expect(inbox.takeSpent() === exchanges[1])
        #expect(inbox.takeSpent() === exchanges[0])
        #expect(inbox.takeSpent() === nil)
    }

    @Test func noMoreAreKeptThanSendersTakeSoon() throws {
        var inbox = OriginInbox()
        inbox.keep(try spent(1...500))
        inbox.keep(try spent(501...1_000))
        #expect(inbox.takeAllSpent().count == 512)
        #expect(inbox.takeAllSpent().isEmpty)
    }

    @Test func anInboxThatIsClosedKeepsNothing() throws {
        var inbox = OriginInbox()
        inbox.keep(try spent(1...2))
        inbox.close()
        inbox.keep(try spent(3...4))
        #expect(inbox.takeSpent() === nil)
    }
}

extension OriginInbox {
    fileprivate mutating func keep(_ exchanges: [Exchange]) {
        var exchanges = exchanges
        keep(&exchanges)
    }
}
