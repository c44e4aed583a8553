import Core
import Delivery
import Nostr
import PlatformTestSupport
import Push
import Registry
import Rules
import Synchronization
import Testing
import TimeTestSupport

@testable import Pipeline

/// Filters between plan and delivery.
@Suite struct FilterTests {
    /// A filter that records its questions and returns the given verdict.
    private final class Probe: Sendable {
        let asked = Mutex<[FilterQuestion]>([])
        private let answer: @Sendable (FilterQuestion) -> FilterDecision

        init(_ answer: @escaping @Sendable (FilterQuestion) -> FilterDecision = { _ in .pass }) {
            self.answer = answer
        }

        @Sendable func decide(_ question: FilterQuestion) -> FilterDecision {
            asked.withLock { $0.append(question) }
            return answer(question)
        }

        /// The recipients of each combined request, by filter.
        final class Groups: Sendable {
            private let kept = Mutex<[(filter: String, recipients: [String])]>([])

            var groups: [(filter: String, recipients: [String])] { kept.withLock(\.self) }

            func note(_ filter: String, _ recipients: [String]) { kept.withLock { $0.append((filter, recipients)) } }
        }

        var questions: [FilterQuestion] { asked.withLock(\.self) }
        var last: FilterQuestion? { questions.last }
    }

    private let fetcher = FakeFetcher()
    private let alice: KeyPair
    private let bob: KeyPair

    init() throws {
        alice = try Workbench.keys()
        bob = try Workbench.keys()
    }

    private func bench(_ filters: EventFilter..., isAnswered: Bool = true) throws -> Workbench {
        try Workbench(
            rules: RuleBook(
                yaml: """
                    version: 1
                    rules:
                      - { match: { kinds: [1] }, signal: mention, mode: alert, title: "{{event.content}}", body: b }
                      - { match: { kinds: [9735] }, title: "zap" }
                      - { match: { kinds: [1059] }, title: "dm" }
                    """,
                name: "test"
            ),
            filters: filters,
            dependencies: PipelineDependencies(contextFetcher: isAnswered ? fetcher : nil)
        )
    }

    private func note(_ content: String, by author: KeyPair, to account: KeyPair, _ bench: Workbench) throws -> Event {
        try bench.event(.textNote, content, tags: [["p", account.publicKey.hex]], by: author)
    }

    private func mutes(_ words: String..., of account: KeyPair, at time: Int64 = 0, _ bench: Workbench) throws -> Event
    {
        try bench.event(.muteList, tags: words.map { ["word", $0] }, by: account, at: Workbench.time + time)
    }

    private func follows(
        _ named: KeyPair...,
        of author: KeyPair,
        at time: Int64 = 0,
        _ bench: Workbench
    ) throws -> Event {
        let tags = named.map { ["p", $0.publicKey.hex] }
        return try bench.event(.contactList, tags: tags, by: author, at: Workbench.time + time)
    }

    /// Delivers the events that relays had, and no others.
    private func find(_ events: [Event], _ bench: Workbench, isAnswered: Bool = true) {
        bench.intake.submit(Submission(events: events.map(\.json), source: .relay(.fetched)) { _ in })
        fetcher.last?.end(isAnswered)
        bench.process()
    }

    private func told(_ bench: Workbench) -> [String] { bench.kept.map(\.notification.title) }

    @Test func filterGetsTheRelevantFacts() throws {
        let probe = Probe()
        let bench = try bench(EventFilter(name: "probe", decide: probe.decide))
        let owner = try bench.account(["mention"])
        let event = try note("hello", by: alice, to: owner, bench)
        bench.submit([event], from: .feed)
        let question = try #require(probe.last)
        #expect(question.event == event.json)
        #expect(question.recipient == owner.publicKey.hex && question.author == alice.publicKey.hex)
        #expect(question.signal == .mention && question.relation == "mention" && question.now == bench.clock.now())
        #expect(question.recipientEvents == [] && question.followDistance == .unknown && question.notification == nil)
        #expect(told(bench) == ["hello"])
    }

    @Test func filteredEventSendsNoPushAndIsAccepted() throws {
        let bench = try bench(EventFilter(name: "no") { _ in .drop(reason: "because") })
        let owner = try bench.account(["mention"])
        let event = try note("hello", by: alice, to: owner, bench)
        #expect(bench.submit([event]).map(\.result) == [.accepted])
        #expect(bench.kept.isEmpty && bench.count(.filtered) == 1)
        let step = try #require(bench.observed.steps.first { $0.step == .filtered })
        #expect(step.reason == "no: because" && step.account == owner.publicKey && step.device != nil)
        #expect(bench.submit([event]).map(\.result) == [.duplicate])
    }

    @Test func allRecipientsOfAnEventGoTogether() throws {
        let log = Probe.Groups()
        let owners = Mutex<Set<String>>([])
        let bench = try bench(
            EventFilter(
                name: "one",
                decideTogether: { questions in
                    log.note("one", questions.map(\.recipient))
                    return questions.map { question in
                        owners.withLock { $0.contains(question.recipient) } ? .drop(reason: "") : .pass
                    }
                }
            ),
            EventFilter(
                name: "two",
                decideTogether: { questions in
                    log.note("two", questions.map(\.recipient))
                    return questions.map { _ in .pass }
                }
            )
        )
        let accounts = try (0..<3).map { _ in try bench.account(["mention"]) }
        let keys = accounts.map(\.publicKey.hex)
        owners.withLock { _ = $0.insert(keys[1]) }
        let event = try bench.event(.textNote, "hello", tags: keys.map { ["p", $0] }, by: alice)
        bench.submit([event], from: .feed)
        let order = log.groups.first?.recipients ?? []
        #expect(Set(order) == Set(keys) && order.count == 3)
        // The second filter gets the recipients that the first one passed, in the same order.
        #expect(log.groups.map(\.filter) == ["one", "two"])
        #expect(log.groups.last?.recipients == order.filter { $0 != keys[1] })
        #expect(told(bench).count == 2 && bench.count(.filtered) == 1)
    }

    @Test func filterThatOmitsAnswersIsAskedAgain() throws {
        let log = Probe.Groups()
        let bench = try bench(
            EventFilter(
                name: "one",
                decideTogether: { questions in
                    log.note("one", questions.map(\.recipient))
                    return [.pass]
                }
            )
        )
        let keys = try (0..<2).map { _ in try bench.account(["mention"]).publicKey.hex }
        bench.submit([try bench.event(.textNote, "hello", tags: keys.map { ["p", $0] }, by: alice)], from: .feed)
        #expect(log.groups.map(\.recipients.count) == [2, 1])
        #expect(told(bench).count == 2)
    }

    @Test func firstDropEndsTheFilterChain() throws {
        let (first, second, third) = (Probe(), Probe { _ in .drop(reason: "") }, Probe())
        let bench = try bench(
            EventFilter(name: "one", decide: first.decide),
            EventFilter(name: "two", decide: second.decide),
            EventFilter(name: "three", decide: third.decide)
        )
        let owner = try bench.account(["mention"])
        bench.submit([try note("hello", by: alice, to: owner, bench)], from: .feed)
        #expect([first, second, third].map(\.questions.count) == [1, 1, 0])
        #expect(bench.observed.steps.first { $0.step == .filtered }?.reason == "two")
        #expect(bench.observed.filtered.withLock { $0 } == ["two": 1])
    }

    @Test func anAccountIsAskedAboutOnceForAllItsDevices() throws {
        let probe = Probe()
        let bench = try bench(EventFilter(name: "probe", decide: probe.decide))
        let owner = try bench.account(["mention"])
        bench.submit([try bench.registration(of: owner, Workbench.content(["mention"]), device: "tablet")], from: .feed)
        let other = try bench.account(["mention"])
        let p = [owner, other].map { ["p", $0.publicKey.hex] }
        bench.submit([try bench.event(.textNote, "hello", tags: p, by: alice)], from: .feed)
        #expect(bench.kept.count == 3)
        #expect(Set(probe.questions.map(\.recipient)) == [owner.publicKey.hex, other.publicKey.hex])
        #expect(probe.questions.count == 2)
    }

    @Test(
        arguments: [
            (FilterAvailability.always, nil, true), (.always, false, true), (.maySwitchOff, nil, true),
            (.maySwitchOff, false, false), (.maySwitchOff, true, true), (.maySwitchOn, nil, false),
            (.maySwitchOn, true, true), (.maySwitchOn, false, false),
        ] as [(FilterAvailability, Bool?, Bool)]
    )
    func devicesToggleAllowedFilters(availability: FilterAvailability, preference: Bool?, isAsked: Bool) throws {
        let bench = try bench(
            EventFilter(name: "web-of-trust", availability: availability) { _ in .drop(reason: "x") }
        )
        let preferences = preference.map { #","filter_plugins":{"web-of-trust":\#($0),"another":true}"# } ?? ""
        let owner = try bench.account(["mention"], further: preferences)
        bench.submit([try note("hello", by: alice, to: owner, bench)], from: .feed)
        #expect(bench.kept.isEmpty == isAsked)
    }

    @Test func filterTogglesArePerDevice() throws {
        let bench = try bench(EventFilter(name: "mutes") { _ in .drop(reason: "x") })
        let owner = try bench.account(["mention"])
        let content = Workbench.content(["mention"], further: #","filter_plugins":{"mutes":false}"#)
        bench.submit([try bench.registration(of: owner, content, device: "tablet")], from: .feed)
        bench.submit([try note("hello", by: alice, to: owner, bench)], from: .feed)
        #expect(bench.kept.count == 1 && bench.count(.filtered) == 1)
    }

    @Test(arguments: [(EventFilter.OnError.pass, 1), (.drop, 0)])
    func failedFilterFollowsTheOperatorsSetting(onError: EventFilter.OnError, kept: Int) throws {
        let bench = try bench(EventFilter(name: "broken", onError: onError) { _ in .failed(reason: "status 4") })
        let owner = try bench.account(["mention"])
        bench.submit([try note("hello", by: alice, to: owner, bench)], from: .feed)
        #expect(bench.kept.count == kept)
        #expect(
            bench.observed.steps.first { $0.step == .filtered }?.reason
                == (kept == 0 ? "broken: it could not decide" : nil)
        )
    }

    @Test func renderedNotificationsMayBeEditedAndDropped() throws {
        let early = Probe()
        let late = EventFilter(name: "late", isAskedAfterRendering: true) { question in
            guard var notification = question.notification else { return .failed(reason: "nothing rendered") }
            if notification.title == "drop" { return .drop(reason: "its title") }
            notification.title += "!"
            return .edited(notification)
        }
        let bench = try bench(late, EventFilter(name: "early", decide: early.decide), late)
        let owner = try bench.account(["mention"])
        bench.submit(
            [try note("hello", by: alice, to: owner, bench), try note("drop", by: alice, to: owner, bench)],
            from: .feed
        )
        #expect(told(bench) == ["hello!!"])
        #expect(early.questions.allSatisfy { $0.notification == nil })
        #expect(bench.observed.steps.first { $0.step == .filtered }?.reason == "late: its title")
        #expect(bench.observed.filtered.withLock { $0 } == ["late": 1])
    }

    @Test func filterSeesNoGiftWrapAuthorAndTheZapsSender() throws {
        let probe = Probe()
        let bench = try bench(EventFilter(name: "probe", decide: probe.decide))
        let owner = try bench.account(["dm", "zap"])
        bench.submit([try bench.wrap(to: owner)], from: .feed)
        #expect(probe.last?.author == "" && probe.last?.signal == .dm)
        let recipient = ["p", owner.publicKey.hex]
        let request = try bench.event(.zapRequest, tags: [recipient, ["amount", "21000"]], by: alice)
        let tags = [
            recipient, ["bolt11", "lnbc210n1pqqq"], ["description", String(decoding: request.json, as: UTF8.self)],
        ]
        bench.submit([try bench.event(.zapReceipt, tags: tags, by: bob)], from: .feed)
        #expect(probe.last?.author == alice.publicKey.hex && probe.last?.zapMillisats == 21_000)
    }

    /// Otherwise, a filter that is switched off later could never let the zap pass.
    @Test func filteredZapIsNotRemembered() throws {
        let drops = Mutex(true)
        let bench = try bench(EventFilter(name: "f") { _ in drops.withLock(\.self) ? .drop(reason: "x") : .pass })
        let owner = try bench.account(["zap"])
        let recipient = ["p", owner.publicKey.hex]
        let request = try bench.event(.zapRequest, tags: [recipient, ["amount", "21000"]], by: alice)
        let tags = [
            recipient, ["bolt11", "lnbc210n1pqqq"], ["description", String(decoding: request.json, as: UTF8.self)],
        ]
        bench.submit([try bench.event(.zapReceipt, tags: tags, by: bob)], from: .feed)
        drops.withLock { $0 = false }
        bench.submit([try bench.event(.zapReceipt, "again", tags: tags, by: bob)], from: .feed)
        #expect(told(bench) == ["zap"])
    }

    private func muting() -> EventFilter {
        EventFilter(name: "mutes", wantedKinds: [.muteList]) { question in
            guard let list = question.recipientEvents.first else { return .pass }
            let isMuted = String(decoding: list, as: UTF8.self).contains(#"["word","spam"]"#)
            return isMuted ? .drop(reason: "a word") : .pass
        }
    }

    @Test(arguments: [EventSource.socket(authenticated: []), .feed, .relay(.live), .relay(.stored), .relay(.baseline)])
    func listAppliesToTheNextEvent(source: EventSource) throws {
        let bench = try bench(muting())
        let owner = try bench.account(["mention"])
        #expect(bench.submit([try mutes("eggs", of: owner, bench)], from: source).map(\.result) == [.accepted])
        bench.submit(
            [
                try note("one", by: alice, to: owner, bench), try mutes("spam", of: owner, at: 1, bench),
                try note("two", by: alice, to: owner, bench), try mutes("eggs", of: owner, at: 0, bench),
                try note("three", by: alice, to: owner, bench), try mutes("eggs", of: owner, at: 2, bench),
                try note("four", by: alice, to: owner, bench),
            ],
            from: .relay(.live)
        )
        #expect(told(bench) == ["one", "four"])
        #expect(fetcher.count == 0)
        try bench.restart()
        bench.submit([try mutes("spam", of: owner, at: 1, bench)], from: source)
        bench.submit([try note("five", by: alice, to: owner, bench)], from: .relay(.live))
        #expect(told(bench) == ["one", "four", "five"])
    }

    @Test func strangersListIsNotVerified() throws {
        let bench = try bench(muting())
        var forged = try mutes("spam", of: alice, bench)
        forged.signature.first = Bytes32(words: (1, 2, 3, 4))
        bench.submit([forged], from: .relay(.live))
        #expect(bench.count(.unaddressed) == 1 && bench.count(.forged) == 0)
    }

    @Test func unknownListIsFetchedWhileTheEventWaits() throws {
        let bench = try bench(muting())
        let owner = try bench.account(["mention"])
        let answers = bench.arrive([([try note("one", by: alice, to: owner, bench)], .relay(.live))])
        #expect(answers[0].count == 0)
        #expect(fetcher.last?.wants.lists == [ListWant(account: owner.publicKey, kind: .muteList)])
        find([try mutes("spam", of: owner, bench)], bench)
        #expect(answers[0].count == 1 && bench.kept.isEmpty && bench.count(.filtered) == 1)
        bench.submit([try note("two", by: alice, to: owner, bench)], from: .relay(.live))
        #expect(fetcher.count == 1 && bench.kept.isEmpty)
    }

    @Test func missingMuteListMutesNothingAndIsNotFetchedAgainSoon() throws {
        let bench = try bench(muting())
        let owner = try bench.account(["mention"])
        bench.submit([try note("one", by: alice, to: owner, bench)], from: .relay(.live))
        find([], bench)
        bench.submit([try note("two", by: alice, to: owner, bench)], from: .relay(.live))
        #expect(told(bench) == ["one", "two"] && fetcher.count == 1)
        bench.clock.advance(by: .minutes(10))
        bench.submit([try note("three", by: alice, to: owner, bench)], from: .relay(.live))
        #expect(fetcher.count == 2)
    }

    @Test func listsThatNoFilterWantsAreForgotten() throws {
        let bench = try bench(muting())
        let owner = try bench.account(["mention"])
        bench.submit([try mutes("spam", of: owner, bench)])
        #expect(try bench.registry.recipientList(.muteList, of: owner.publicKey) != nil)
        try bench.restart(filters: [])
        #expect(try bench.registry.recipientList(.muteList, of: owner.publicKey) == nil)
        bench.submit([try mutes("spam", of: owner, at: 1, bench)])
        #expect(try bench.registry.recipientList(.muteList, of: owner.publicKey) == nil)
    }

    private func trusting(_ need: FollowNeed, _ probe: Probe) -> EventFilter {
        EventFilter(name: "trust", need: need, decide: probe.decide)
    }

    @Test func followedAuthorHasDistanceFollowed() throws {
        let probe = Probe()
        let bench = try bench(trusting(.followed, probe))
        let owner = try bench.account(["mention"])
        bench.submit([try follows(alice, of: owner, bench)])
        bench.submit([try note("one", by: alice, to: owner, bench), try note("two", by: bob, to: owner, bench)])
        #expect(probe.questions.map(\.followDistance) == [.followed, .notFollowed])
        #expect(fetcher.count == 0)
    }

    @Test func relaysAreAskedForFollowsOfFollows() throws {
        let probe = Probe()
        let bench = try bench(trusting(.distance, probe))
        let owner = try bench.account(["mention"])
        bench.submit([try follows(alice, of: owner, bench)])
        bench.submit([try note("one", by: bob, to: owner, bench)], from: .relay(.live))
        let want = DistanceWant(account: owner.publicKey, author: bob.publicKey)
        #expect(fetcher.last?.wants.distances == [want])
        // A list that names others, or whose author the recipient does not follow, proves no distance.
        let mallory = try Workbench.keys()
        bench.intake.submit(
            Submission(
                events: [try follows(mallory, of: alice, bench), try follows(bob, of: mallory, bench)].map(\.json),
                source: .relay(.fetched)
            ) { _ in }
        )
        bench.process()
        #expect(probe.questions.isEmpty)
        find([try follows(bob, of: alice, at: 1, bench)], bench)
        #expect(probe.questions.map(\.followDistance) == [.second])
        bench.submit([try note("two", by: bob, to: owner, bench)], from: .relay(.live))
        #expect(probe.questions.map(\.followDistance) == [.second, .second] && fetcher.count == 1)
    }

    @Test(
        arguments: [(true, FollowDistance.stranger, .minutes(10)), (false, .notFollowed, .minutes(1))]
            as [(Bool, FollowDistance, Duration)]
    )
    func unknownFollowDistanceIsCachedForAWhile(isAnswered: Bool, distance: FollowDistance, timeout: Duration) throws {
        let probe = Probe()
        let bench = try bench(trusting(.distance, probe))
        let owner = try bench.account(["mention"])
        bench.submit([try follows(alice, of: owner, bench)])
        bench.submit([try note("one", by: bob, to: owner, bench)], from: .relay(.live))
        find([], bench, isAnswered: isAnswered)
        #expect(probe.questions.map(\.followDistance) == [distance])
        bench.clock.advance(by: timeout - .milliseconds(1))
        bench.submit([try note("two", by: bob, to: owner, bench)], from: .relay(.live))
        #expect(fetcher.count == 1 && probe.questions.count == 2)
        bench.clock.advance(by: .milliseconds(1))
        bench.submit([try note("three", by: bob, to: owner, bench)], from: .relay(.live))
        #expect(fetcher.count == 2)
    }

    /// A flood of unknown authors uses up one account's places, and not those of others.
    @Test func aFloodAtOneAccountLeavesRoomForOthers() throws {
        let probe = Probe()
        let bench = try bench(trusting(.distance, probe))
        let (owner, other) = (try bench.account(["mention"]), try bench.account(["mention"]))
        bench.submit([try follows(alice, of: owner, bench), try follows(alice, of: other, bench)])
        let strangers = try (0..<40).map { _ in try Workbench.keys() }
        bench.submit(try strangers.map { try note("flood", by: $0, to: owner, bench) }, from: .relay(.live))
        #expect(fetcher.last?.wants.distances.count == 32)
        #expect(probe.questions.map(\.followDistance) == Array(repeating: .notFollowed, count: 8))
        bench.submit([try note("calm", by: bob, to: other, bench)], from: .relay(.live))
        #expect(fetcher.last?.wants.distances == [DistanceWant(account: other.publicKey, author: bob.publicKey)])
    }

    /// One wait covers both: first the accounts that the recipient follows, then the accounts that those follow.
    @Test func distanceIsFetchedAfterTheList() throws {
        let probe = Probe()
        let bench = try bench(trusting(.distance, probe))
        let owner = try bench.account(["mention"])
        bench.submit([try note("one", by: bob, to: owner, bench)], from: .relay(.live))
        #expect(fetcher.last?.wants.contactLists == [owner.publicKey] && fetcher.last?.wants.distances == [])
        find([try follows(alice, of: owner, bench)], bench)
        #expect(fetcher.count == 2)
        #expect(fetcher.last?.wants.distances == [DistanceWant(account: owner.publicKey, author: bob.publicKey)])
        #expect(probe.questions.isEmpty)
        find([try follows(bob, of: alice, bench)], bench)
        #expect(probe.questions.map(\.followDistance) == [.second])
    }

    /// If a list came while only the accounts in it mattered, only those accounts were kept.
    @Test(arguments: [true, false])
    func listIsFetchedIfOnlyItsKeysAreKnown(isReloaded: Bool) throws {
        let probe = Probe()
        let bench = try bench(trusting(.followed, probe))
        let owner = try bench.account(["mention"])
        let list = try follows(alice, of: owner, bench)
        bench.submit([list])
        if isReloaded { try adopt([trusting(.distance, probe)], bench) }
        if !isReloaded { try bench.restart(filters: [trusting(.distance, probe)]) }
        bench.submit(
            [try note("friend", by: alice, to: owner, bench), try note("one", by: bob, to: owner, bench)],
            from: .relay(.live)
        )
        #expect(probe.questions.map(\.followDistance) == [.followed])
        #expect(fetcher.last?.wants == ContextWants(contactLists: [owner.publicKey]))
        find([list], bench)
        #expect(fetcher.last?.wants.distances == [DistanceWant(account: owner.publicKey, author: bob.publicKey)])
        find([try follows(bob, of: alice, bench)], bench)
        #expect(probe.questions.map(\.followDistance) == [.followed, .second] && told(bench) == ["friend", "one"])
    }

    @Test func missingListKeepsDistanceAtItsDirectFollows() throws {
        let probe = Probe()
        let bench = try bench(trusting(.followed, probe))
        let owner = try bench.account(["mention"])
        bench.submit([try follows(alice, of: owner, bench)])
        try adopt([trusting(.distance, probe)], bench)
        bench.submit([try note("one", by: bob, to: owner, bench)], from: .relay(.live))
        find([], bench)
        bench.submit([try note("two", by: bob, to: owner, bench)], from: .relay(.live))
        #expect(probe.questions.map(\.followDistance) == [.notFollowed, .notFollowed] && fetcher.count == 1)
    }

    /// A fetch under earlier filters may have failed or had another purpose, so the list is fetched again.
    @Test(arguments: [FollowNeed.followed, .nothing])
    func otherFiltersFetchAgainWithoutAPause(between: FollowNeed) throws {
        let probe = Probe()
        let bench = try bench(trusting(.distance, probe))
        let owner = try bench.account(["mention"])
        let list = try follows(alice, of: owner, bench)
        bench.submit([try note("one", by: bob, to: owner, bench)], from: .relay(.live))
        find([list], bench)
        find([], bench)
        try adopt([trusting(between, probe)], bench)
        try adopt([trusting(.distance, probe)], bench)
        let (count, carol) = (fetcher.count, try Workbench.keys())
        bench.submit([try note("two", by: carol, to: owner, bench)], from: .relay(.live))
        #expect(fetcher.count == count + 1)
        #expect(fetcher.last?.wants == ContextWants(contactLists: [owner.publicKey]))
        find([list], bench)
        find([try follows(carol, of: alice, bench)], bench)
        #expect(probe.questions.map(\.followDistance) == [.stranger, .second])
        // Settings that read the same lists keep the results of earlier fetches.
        try adopt([trusting(.distance, probe)], bench)
        bench.submit([try note("three", by: carol, to: owner, bench)], from: .relay(.live))
        #expect(probe.last?.followDistance == .second && fetcher.count == count + 2)
    }

    /// Other filters while it runs.
    private func adopt(_ filters: [EventFilter], _ bench: Workbench) throws {
        let pipeline = try #require(bench.pipeline)
        var settings = pipeline.settings
        settings.filters = filters
        try pipeline.adopt(settings)
    }

    @Test func distanceIsUnknownWithoutAList() throws {
        let probe = Probe()
        let bench = try bench(trusting(.distance, probe))
        let owner = try bench.account(["mention"])
        bench.submit([try note("one", by: bob, to: owner, bench)], from: .relay(.live))
        find([], bench)
        #expect(probe.questions.map(\.followDistance) == [.unknown] && fetcher.count == 1)
    }

    @Test func knownFollowsAndUnknownAuthorsAreNotFetched() throws {
        let probe = Probe()
        let bench = try bench(trusting(.distance, probe))
        let owner = try bench.account(["mention", "dm"])
        bench.submit([try follows(alice, of: owner, bench)])
        bench.submit([try note("one", by: alice, to: owner, bench), try bench.wrap(to: owner)], from: .relay(.live))
        #expect(probe.questions.map(\.followDistance) == [.followed, .unknown] && fetcher.count == 0)
    }

    @Test func changedFollowListFetchesAgain() throws {
        let probe = Probe()
        let bench = try bench(trusting(.distance, probe))
        let owner = try bench.account(["mention"])
        bench.submit([try follows(alice, of: owner, bench)])
        bench.submit([try note("one", by: bob, to: owner, bench)], from: .relay(.live))
        find([], bench)
        bench.submit([try follows(bob, of: owner, at: 1, bench)])
        bench.submit([try note("two", by: bob, to: owner, bench)], from: .relay(.live))
        #expect(probe.questions.map(\.followDistance) == [.stranger, .followed])
    }

    @Test func eventsDoNotWaitWithoutAFetcher() throws {
        let probe = Probe()
        let bench = try bench(trusting(.distance, probe), muting(), isAnswered: false)
        let owner = try bench.account(["mention"])
        bench.submit([try note("one", by: bob, to: owner, bench)], from: .relay(.live))
        #expect(told(bench) == ["one"] && probe.last?.followDistance == .unknown)
    }
}
