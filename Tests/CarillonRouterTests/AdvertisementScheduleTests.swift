import Cipher
import Core
import Nostr
import Relays
import Testing
import TimeTestSupport

@testable import CarillonRouter

@Suite struct AdvertisementScheduleTests {
    private let one: RelayURL
    private let two: RelayURL
    private let event: Event
    private let changed: Event
    private let minute = Timestamp.epoch + .minutes(1)

    init() throws {
        let identity = try KeyPair(random: SecureRandom.bytes)
        one = try #require(RelayURL("wss://one.example.com"))
        two = try #require(RelayURL("wss://two.example.com"))
        event = try Event.signed(kind: .notificationRelay, createdAt: 1, tags: [], content: "", by: identity)
        changed = try Event.signed(kind: .notificationRelay, createdAt: 2, tags: [], content: "", by: identity)
    }

    @Test func eachRelayIsAskedUntilItHasIt() {
        var desk = AdvertisementSchedule(relays: [one, two])
        #expect(desk.due(at: 0) == [] && desk.nextAttempt == nil)
        desk.advertise(event, now: 0)
        #expect(desk.due(at: 0) == [one, two])
        // Not twice while a response is pending.
        #expect(desk.due(at: .distantFuture) == [] && desk.nextAttempt == nil)
        #expect(desk.answered(event, at: [one, two], [one: .accepted, two: .unanswered], now: 0) == [two])
        #expect(desk.nextAttempt == minute)
        #expect(desk.due(at: minute - .milliseconds(1)) == [] && desk.due(at: minute) == [two])
        #expect(desk.answered(event, at: [two], [two: .accepted], now: minute) == [])
        #expect(desk.nextAttempt == nil && desk.due(at: .distantFuture) == [])
    }

    /// If several routers have the same advertisement, one of them publishes it at each relay.
    @Test func eventHeldByAnotherRouterIsLeftToIt() {
        var desk = AdvertisementSchedule(relays: [one, two])
        desk.limit { $0 == one }
        desk.advertise(event, now: 0)
        #expect(desk.due(at: 0) == [one] && desk.nextAttempt == nil)
        #expect(desk.answered(event, at: [one], [one: .accepted], now: 0) == [])
        desk.limit { _ in true }
        #expect(desk.nextAttempt == 0 && desk.due(at: 0) == [two])
    }

    @Test func unansweredRelayIsRetriedWithBackoffUpToAnHour() {
        var desk = AdvertisementSchedule(relays: [one])
        desk.advertise(event, now: 0)
        var now = Timestamp.epoch
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            #expect(desk.due(at: now) == [one])
            // A relay without a result has not responded.
            #expect(desk.answered(event, at: [one], [:], now: now) == [one])
            #expect(desk.nextAttempt == now + .minutes(pause))
            now += .minutes(pause)
        }
    }

    @Test func refusedEventIsNotResentForAnHour() {
        var desk = AdvertisementSchedule(relays: [one])
        desk.advertise(event, now: 0)
        _ = desk.due(at: 0)
        #expect(desk.answered(event, at: [one], [one: .refused(message: "blocked: no")], now: 5) == [one])
        #expect(desk.nextAttempt == .epoch + .hours(1) + .milliseconds(5))
    }

    @Test func changedEventIsPublishedToAllRelaysImmediately() {
        var desk = AdvertisementSchedule(relays: [one, two])
        desk.advertise(event, now: 0)
        _ = desk.due(at: 0)
        #expect(desk.answered(event, at: [one], [one: .accepted], now: 0) == [])
        desk.advertise(changed, now: 1)
        #expect(desk.due(at: 1) == [one, two])
        // The second relay's response is about the former event.
        #expect(desk.answered(event, at: [two], [two: .accepted], now: 2) == [])
        #expect(desk.answered(changed, at: [one, two], [one: .accepted, two: .unanswered], now: 3) == [two])
        #expect(desk.event == changed)
    }
}
