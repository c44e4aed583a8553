import Core
import Listeners
import Push
import Testing

@testable import CarillonRouter

@Suite struct RejectedTokenTableTests {
    private static let noon = Timestamp(seconds: 1_773_446_400)

    private func client(_ number: Int) throws -> ClientAddress {
        try #require(ClientAddress(peer: "192.0.2.\(number)", forwardedFor: [], isTrustedProxy: { _ in false }))
    }

    private func bring(
        _ book: inout RejectedTokenTable,
        _ devices: Range<Int64>,
        by client: ClientAddress,
        areTaken: Bool?
    ) {
        for device in devices {
            book.begin(DeviceID(rawValue: -device), by: client)
            book.end(DeviceID(rawValue: -device), isTaken: areTaken, now: Self.noon)
        }
    }

    @Test func whoMakesTokensUpIsMistrustedForAnHour() throws {
        var book = RejectedTokenTable()
        let (bad, other) = (try client(1), try client(2))
        bring(&book, 1..<21, by: bad, areTaken: false)
        #expect(!book.isMistrusted(bad, now: Self.noon))
        bring(&book, 21..<22, by: bad, areTaken: false)
        #expect(
            book.isMistrusted(bad, now: Self.noon) && book.isMistrusted(bad, now: Self.noon + .milliseconds(3_599_999))
        )
        #expect(!book.isMistrusted(other, now: Self.noon))
        #expect(!book.isMistrusted(bad, now: Self.noon + .hours(1)))
        #expect(!book.isMistrusted(bad, now: Self.noon - .milliseconds(1)))
    }

    @Test func whoseTokensAreMostlyGoodIsTrusted() throws {
        var book = RejectedTokenTable()
        let client = try client(1)
        bring(&book, 1..<101, by: client, areTaken: true)
        bring(&book, 101..<201, by: client, areTaken: false)
        #expect(!book.isMistrusted(client, now: Self.noon))
        bring(&book, 201..<202, by: client, areTaken: false)
        #expect(book.isMistrusted(client, now: Self.noon))
    }

    @Test func eachTokenCountsOnceAndForWhoBroughtItFirst() throws {
        var book = RejectedTokenTable()
        let (first, second) = (try client(1), try client(2))
        for device in 1...50 as ClosedRange<Int64> {
            book.begin(DeviceID(rawValue: -device), by: first)
            book.begin(DeviceID(rawValue: -device), by: second)
        }
        for device in 1...50 as ClosedRange<Int64> {
            for _ in 1...3 { book.end(DeviceID(rawValue: -device), isTaken: false, now: Self.noon) }
        }
        #expect(book.isMistrusted(first, now: Self.noon) && !book.isMistrusted(second, now: Self.noon))
    }

    @Test func whatSaysNothingOfATokenCountsForNothing() throws {
        var book = RejectedTokenTable()
        let client = try client(1)
        bring(&book, 1..<101, by: client, areTaken: nil)
        #expect(!book.isMistrusted(client, now: Self.noon))
    }
}
