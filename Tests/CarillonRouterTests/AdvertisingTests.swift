import Cipher
import Core
import Delivery
import Logging
import Nostr
import RelayServer
import Relays
import Synchronization
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import RouterConfiguration

@Suite struct AdvertisingTests {
    /// Relays with configured responses.
    private final class Relays: Sendable {
        private let answers: Mutex<[[RelayURL: PublishResult]]>
        private let attempts = Mutex<[(Event, [RelayURL])]>([])

        init(_ answers: [[RelayURL: PublishResult]]) {
            self.answers = Mutex(answers)
        }

        var asked: [[RelayURL]] { attempts.withLock { $0.map(\.1) } }

        @Sendable func publish(
            _ event: Event,
            to relays: [RelayURL],
            completion: @Sendable ([RelayURL: PublishResult]) -> Void
        ) {
            attempts.withLock { $0.append((event, relays)) }
            completion(answers.withLock { $0.isEmpty ? [:] : $0.removeFirst() })
        }
    }

    /// A clock that stands still until the test lets an alarm ring.
    private final class ManualAlarm: Alarm {
        private let state = Mutex((now: Timestamp(seconds: 10), alarms: [(Timestamp, @Sendable () -> Void)]()))

        var now: Timestamp { state.withLock { $0.now } }
        var times: [Timestamp] { state.withLock { $0.alarms.map(\.0) } }

        func ring(at time: Timestamp, _ action: @escaping @Sendable () -> Void) {
            state.withLock { $0.alarms.append((time, action)) }
        }

        /// Sets the clock and lets all alarms ring, early or not.
        func advance(to time: Timestamp) {
            let due = state.withLock { state in
                state.now = time
                defer { state.alarms = [] }
                return state.alarms
            }
            for (_, action) in due { action() }
        }
    }

    private let identity: KeyPair
    private let one: RelayURL
    private let two: RelayURL
    private let alarm = ManualAlarm()

    init() throws {
        identity = try KeyPair(random: SecureRandom.bytes)
        one = try #require(RelayURL("wss://one.example.com"))
        two = try #require(RelayURL("wss://two.example.com"))
    }

    private func advertising(_ relays: Relays) -> Advertising {
        Advertising(
            identity: identity,
            relays: [one, two],
            publish: relays.publish,
            alarm: alarm,
            now: { [alarm] in alarm.now },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private var advertisement: Advertisement {
        get throws { try advertisement(platforms: ["ios"]) }
    }

    private func advertisement(platforms: [String]) throws -> Advertisement {
        let configuration = Configuration(keyFile: "", storePath: "")
        let terms = PushTerms(platforms: platforms, limits: configuration.registrationLimits, apps: [:])
        return try Advertisement(configuration: configuration, port: 7447, terms)
    }

    @Test func unchangedAdvertisementIsNotPublishedAgain() throws {
        let relays = Relays([])
        let advertising = advertising(relays)
        let event = try advertising.advertise(advertisement, stored: []) { _ in }
        #expect(try advertising.advertise(advertisement, stored: [event]) { _ in } == event)
        #expect(relays.asked.count == 1)
        try advertising.advertise(advertisement(platforms: ["ios", "web"]), stored: [event]) { _ in }
        #expect(relays.asked.count == 2)
    }

    @Test func advertisementIsStoredOnceAndPublishedOnEveryStart() throws {
        let relays = Relays([[one: .accepted, two: .accepted], [one: .accepted, two: .accepted]])
        var kept: [Event] = []
        let first = advertising(relays)
        #expect(first.event == nil)
        let event = try first.advertise(advertisement, stored: []) { kept.append($0) }
        #expect(kept == [event] && first.event == event)
        alarm.advance(to: 99_000)
        let second = advertising(relays)
        #expect(try second.advertise(advertisement, stored: kept) { kept.append($0) } == event)
        #expect(kept == [event])
        #expect(relays.asked == [[one, two], [one, two]])
        #expect(alarm.times == [])
    }

    @Test func formerKeyAnnouncesItsSuccessor() throws {
        let successor = try KeyPair(random: SecureRandom.bytes).publicKey
        let date = Timestamp(seconds: 1_800_000_000)
        let former = try advertisement.event(
            by: identity,
            Succession(successor: successor, retiresAt: date),
            replacing: nil,
            now: 0
        )
        #expect(former.pubkey == identity.publicKey)
        #expect(former.tags.suffix(2) == [["successor", successor.hex], ["retires_at", "1800000000"]])
        let own = try advertisement.event(by: identity, replacing: former, now: 0)
        #expect(own.tags == Array(former.tags.dropLast(2)) && own.createdAt > former.createdAt)
        let later = Succession(successor: successor, retiresAt: date + .days(1))
        #expect(try advertisement.event(by: identity, later, replacing: former, now: 0) != former)
    }

    @Test func advertisementThatCannotBeStoredIsNotPublished() {
        struct Full: Error {}
        let relays = Relays([])
        let advertising = advertising(relays)
        #expect(throws: Full.self) { try advertising.advertise(advertisement, stored: []) { _ in throw Full() } }
        #expect(relays.asked == [] && advertising.event == nil)
    }

    @Test func alarmRepublishesToRelaysThatLackIt() throws {
        let relays = Relays([[one: .accepted], [two: .refused(message: "error: later")], [two: .accepted]])
        let advertising = advertising(relays)
        try advertising.advertise(advertisement, stored: []) { _ in }
        #expect(relays.asked == [[one, two]] && alarm.times == [70_000])
        // An early alarm has no effect.
        alarm.advance(to: 69_999)
        #expect(relays.asked.count == 1 && alarm.times == [70_000])
        alarm.advance(to: 70_000)
        #expect(relays.asked == [[one, two], [two]] && alarm.times == [3_670_000])
        alarm.advance(to: 3_670_000)
        #expect(relays.asked == [[one, two], [two], [two]] && alarm.times == [])
    }

    @Test func publishesNothingAfterStop() throws {
        let relays = Relays([])
        let advertising = advertising(relays)
        try advertising.advertise(advertisement, stored: []) { _ in }
        advertising.stop()
        alarm.advance(to: 4_000_000)
        #expect(relays.asked.count == 1)
    }
}
