import Core
import Push
import Testing
import TimeTestSupport

@testable import Delivery

/// Tokens that a push service has not accepted yet, which may be invented.
struct CourierNewDeviceTests {
    private let delivered = Outcome(.delivered, status: 200, reason: "ok")
    private let madeUp = Outcome(.rejected, status: 400, reason: "BadDeviceToken")

    private func driver(inFlight: Int = 100) -> QueuesDriver {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: inFlight, window: 8192))
        driver.resolve = { .found(host: $0.device.rawValue < 10_000 ? CourierEnvironment.newDevices : nil) }
        return driver
    }

    @Test func madeUpTokensAreTriedOneAtATimeWithoutDelayingOthers() {
        var driver = driver()
        driver.accept((1...4_000).map { .sample($0, device: Int64($0)) })
        #expect(driver.numbersUnderWay == [1])
        var most = 0
        var ended = 0
        while ended < 4_000 {
            most = max(most, driver.numbersUnderWay.count)
            if let number = driver.numbersUnderWay.first {
                driver.end(number, madeUp)
                ended += 1
            } else if let wakeAt = driver.wakeAt {
                driver.advance(to: max(wakeAt, driver.now + .milliseconds(1)))
            } else {
                break
            }
            guard ended % 1_000 == 500 else { continue }
            let known = 10_000 + ended
            driver.accept(.sample(known, device: Int64(known)))
            #expect(driver.numbersUnderWay.contains(known))
            driver.end(known, delivered)
        }
        #expect(ended == 4_000)
        #expect(most == 1)
    }

    @Test func acceptedNewTokensRaiseTheLimit() {
        var driver = driver(inFlight: 50)
        driver.accept((1...400).map { .sample($0, device: Int64($0)) })
        var rounds: [Int] = []
        while !driver.numbersUnderWay.isEmpty, rounds.count < 10 {
            let numbers = driver.numbersUnderWay
            rounds.append(numbers.count)
            for number in numbers { driver.end(number, delivered) }
        }
        #expect(Array(rounds.prefix(7)) == [1, 2, 4, 8, 16, 32, 50])
    }

    @Test func refusedNewTokenLowersTheLimit() {
        var driver = driver(inFlight: 50)
        driver.accept((1...400).map { .sample($0, device: Int64($0)) })
        for _ in 1...20 { driver.end(driver.numbersUnderWay[0], delivered) }
        #expect(driver.numbersUnderWay.count == 21)
        for _ in 1...5 { driver.end(driver.numbersUnderWay[0], madeUp) }
        while driver.numbersUnderWay.count > 1 { driver.end(driver.numbersUnderWay[0], madeUp) }
        #expect(driver.numbersUnderWay.count == 1)
        // A token whose app was removed was valid before.
        for _ in 1...3 { driver.end(driver.numbersUnderWay[0], delivered) }
        #expect(driver.numbersUnderWay.count == 4)
        driver.end(driver.numbersUnderWay[0], Outcome(.gone, status: 410, reason: "Unregistered"))
        #expect(driver.numbersUnderWay.count == 4)
    }

    @Test func unavailablePushServiceDoesNotLowerTheTokenLimit() {
        var driver = driver()
        driver.accept((1...40).map { .sample($0, device: Int64($0)) })
        for _ in 1...7 { driver.end(driver.numbersUnderWay[0], delivered) }
        #expect(driver.numbersUnderWay.count == 8)
        for number in driver.numbersUnderWay { driver.end(number, Outcome(.retry, reason: "unreachable")) }
        #expect(driver.numbersUnderWay.count == 8)
    }

    @Test func oneDeliveryIsTriedAfterAPause() {
        var driver = driver()
        driver.accept((1...40).map { .sample($0, device: Int64($0)) })
        while let number = driver.numbersUnderWay.first { driver.end(number, delivered) }
        driver.accept((41...80).map { .sample($0, device: Int64($0)) })
        #expect(driver.numbersUnderWay.count == 1)
    }
}
