import Cipher
import Core
import Delivery
import Logging
import Nostr
import PlatformTestSupport
import Push
import RandomTestSupport
import Rules
import Synchronization
import Testing
import TimeTestSupport

@testable import Pipeline
@testable import Registry

/// Compares the prefilter of readers with the pipeline's result for the same events.
@Suite struct EventScreenTests {
    private let screen: EventScreen
    private let passed: Passed
    private let bench: Workbench
    private let stranger: KeyPair

    private final class Passed: Sendable {
        let count = Mutex(0)
        let reports = Mutex(0)
    }

    init() throws {
        let passed = Passed()
        self.passed = passed
        screen = EventScreen(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) { count in
            passed.count.withLock { $0 += count }
            passed.reports.withLock { $0 += 1 }
        }
        bench = try Workbench(dependencies: PipelineDependencies(screen: screen))
        stranger = try Workbench.keys()
    }

    private func note(to keys: KeyPair..., kind: Kind = .textNote) throws -> Event {
        try bench.event(kind, tags: keys.map { ["p", $0.publicKey.hex] }, by: stranger)
    }

    /// Returns a reader that has seen the current view.
    private func reading(of source: EventSource = .feed) throws -> any EventPrefilter {
        let reading = screen.prefilter(of: source)
        _ = reading.finding(of: try note())
        return reading
    }

    @Test func unaddressedEventIsSkipped() throws {
        let owner = try bench.account()
        let reading = try reading()
        #expect(reading.finding(of: try note()) == .irrelevant)
        #expect(reading.finding(of: try note(to: Workbench.keys(), Workbench.keys())) == .irrelevant)
        #expect(reading.finding(of: try note(to: Workbench.keys(), owner)) == .mayConcernSomebody)
        #expect(passed.count.withLock { $0 } == 0)
        reading.report()
        reading.report()
        #expect(passed.count.withLock { $0 } == 2)
        #expect(passed.reports.withLock { $0 } == 1)
    }

    @Test func eventsAreNotSkippedBeforeTheAccountsAreLoaded() throws {
        let closed = EventScreen(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) { _ in }
        let reading = closed.prefilter(of: .feed)
        #expect(reading.finding(of: try note()) == .mayConcernSomebody)
        #expect(reading.finding(of: try note()) == .mayConcernSomebody)
    }

    @Test func eventThatGetsAResponseReachesThePipeline() throws {
        let reading = try reading(of: .socket(authenticated: []))
        #expect(reading.finding(of: try note()) == .mayConcernSomebody)
    }

    @Test func invalidEventIsHandedOver() throws {
        let reading = try reading()
        for text in ["", "{}", "[1]", #"{"id":"1"}"#] {
            #expect(Array(text.utf8).withUnsafeBytes { reading.finding(of: $0) } == .mayConcernSomebody)
        }
    }

    @Test func accountIsScreenedForOnceRegistered() throws {
        let reading = try reading()
        let keys = try Workbench.keys()
        let registration = try bench.registration(of: keys, Workbench.content())
        #expect(reading.finding(of: try note(to: keys)) == .irrelevant)
        #expect(reading.finding(of: registration) == .mayRegister)
        bench.submit([registration], from: .feed)
        #expect(reading.finding(of: try note(to: keys)) == .mayConcernSomebody)
        #expect(reading.finding(of: try note()) == .irrelevant)
    }

    /// Other code also writes to the registry, and responds before the pipeline's thread runs again.
    @Test func eventsAreNotSkippedWhileAChangeIsPending() throws {
        let owner = try bench.account()
        let reading = try reading()
        #expect(reading.finding(of: try note()) == .irrelevant)
        var devices: [DeviceID] = []
        bench.submit([try note(to: owner)], from: .feed)
        devices = bench.kept.map(\.device)
        #expect(try bench.registry.remove(try #require(devices.first)))
        #expect(reading.finding(of: try note()) == .mayConcernSomebody)
        bench.submit([try note()], from: .feed)
        #expect(reading.finding(of: try note()) == .irrelevant)
    }

    @Test func messageKeysAreScreenedFor() throws {
        let owner = try bench.account()
        let device = try Workbench.keys()
        let reading = try reading()
        let wrap = try bench.wrap(to: device)
        #expect(reading.finding(of: wrap) == .irrelevant)
        let list = try bench.event(.deviceList, tags: [["dm_key", device.publicKey.hex]], by: owner)
        #expect(reading.finding(of: list) == .mayRegister)
        bench.submit([list], from: .feed)
        #expect(reading.finding(of: wrap) == .mayConcernSomebody)
        // Lists of other accounts change nothing here.
        let other = try bench.event(.deviceList, tags: [["dm_key", device.publicKey.hex]], by: stranger)
        #expect(reading.finding(of: other) == .mayConcernSomebody)
    }

    @Test func registrationsForOtherRoutersAreNotWaitedFor() throws {
        let reading = try reading()
        let other = try Workbench.keys().publicKey.hex
        let registration = try bench.event(.pushRegistration, tags: [["d", other + ":phone"]], by: stranger)
        #expect(reading.finding(of: registration) == .irrelevant)
    }

    @Test func changedRulesApplyImmediately() throws {
        let owner = try bench.account()
        let reading = try reading()
        let odd = try note(to: owner, kind: Kind(31_999))
        let before = reading.finding(of: odd)
        #expect(before == .irrelevant)
        let rules = try RuleBook(
            yaml: "version: 1\nrules:\n  - { match: { kinds: 31999 }, signal: odd, title: odd }",
            name: "rules.yaml"
        )
        try bench.pipeline?.adopt(PipelineSettings(rules: rules))
        #expect(reading.finding(of: odd) == .mayConcernSomebody)
    }

    @Test func manyAccountsThatComeAndGoLeaveTheFilterUsable() throws {
        var index = MatchIndex()
        let purposes = Purposes(
            keys: bench.registry.keys.names,
            notifiableKinds: nil,
            takesRequests: false,
            takesHints: false,
            recipientKinds: []
        )
        let changes = IndexFeed()
        screen.open(index, purposes, following: changes)
        let reading = screen.prefilter(of: .feed)
        var generator = SeededGenerator(seed: 5)
        var last: [PublicKey] = []
        for round in 0..<5 {
            for number in 0..<3_000 {
                let key = PublicKey(
                    Bytes32(words: (generator.next(), generator.next(), generator.next(), generator.next()))
                )
                last.append(key)
                let device = DeviceID(rawValue: Int64(round * 3_000 + number))
                let change = IndexChange.put(
                    IndexedDevice(
                        account: key,
                        device: device,
                        firstRegisteredAt: 0,
                        signals: [],
                        furtherSignals: [],
                        mode: nil,
                        locale: LanguageTag("en"),
                        route: Route(platform: "ios", app: "default"),
                        routeID: RouteID(rawValue: 1)
                    )
                )
                index.apply(change)
                screen.apply(change)
            }
            screen.refresh(from: index)
        }
        let events = try (0..<200).map { _ in try note(to: Workbench.keys(), Workbench.keys()) }
        _ = reading.finding(of: events[0])
        #expect(events.count { reading.finding(of: $0) == .mayConcernSomebody } <= 20)
        for key in last.suffix(50) + last.prefix(50) {
            let event = try bench.event(.textNote, tags: [["p", key.hex]], by: stranger)
            #expect(reading.finding(of: event) == .mayConcernSomebody)
        }
    }

    /// The pipeline would have dropped each event that readers skip, because it concerns no account.
    @Test func thePipelineAgreesAboutEventsOfAllKinds() throws {
        let owner = try bench.account()
        let us = bench.identity.publicKey.hex
        let reading = try reading()
        var generator = SeededGenerator(seed: 7)
        let kinds: [UInt16] =
            [0, 1, 3, 4, 5, 6, 7, 14, 62, 1059, 9735, 10_002, 10_050, 10_062, 20_062, 20_063, 21_059]
            + [24_133, 30_062, 30_023]
        var both = (nobody: 0, somebody: 0)
        for number in 0..<400 {
            let kind =
                generator.once(in: 10) ? UInt16.random(in: 0...65_535, using: &generator) : kinds[number % kinds.count]
            var tags: [[String]] = []
            if generator.once(in: 3) { tags.append(["p", owner.publicKey.hex]) }
            if generator.once(in: 5) { tags.append(["p", us]) }
            if generator.once(in: 3) { tags.append(["d", us + ":phone"]) }
            if generator.once(in: 2) { tags.append(["p", try Workbench.keys().publicKey.hex]) }
            let author = generator.once(in: 6) ? owner : stranger
            let event = try bench.event(Kind(kind), "\(number)", tags: tags, by: author)
            let finding = reading.finding(of: event)
            let before = bench.count(.unaddressed)
            bench.submit([event], from: .feed)
            let isStopped = bench.count(.unaddressed) == before + 1
            if finding == .irrelevant {
                #expect(isStopped, "kind \(kind), tags \(tags)")
                both.nobody += 1
            } else {
                both.somebody += 1
            }
        }
        #expect(both.nobody > 50 && both.somebody > 50)
    }
}

extension EventPrefilter {
    fileprivate func finding(of event: Event) -> PrefilterResult {
        event.json.withUnsafeBytes { finding(of: $0) }
    }
}
