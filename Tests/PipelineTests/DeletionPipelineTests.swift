import Cipher
import Core
import Delivery
import Nostr
import PlatformTestSupport
import Push
import Registry
import Rules
import Testing
import TimeTestSupport

@testable import Pipeline

/// Kinds 5 and 62 through the pipeline: events that their authors delete are no longer notified.
@Suite struct DeletionPipelineTests {
    private func deletion(_ bench: Workbench, of events: [Event], by keys: KeyPair, kind: String = "1") throws -> Event
    {
        try bench.event(
            .deletion,
            tags: events.map { ["e", $0.id.hex] } + [["k", kind]],
            by: keys,
            at: bench.clock.now().seconds
        )
    }

    private func note(_ bench: Workbench, _ content: String, to owner: KeyPair, by keys: KeyPair) throws -> Event {
        try bench.event(
            .textNote,
            content,
            tags: [["p", owner.publicKey.hex]],
            by: keys,
            at: bench.clock.now().seconds
        )
    }

    @Test(arguments: [true, false]) func deletedRegistrationSendsNoPush(isFromRelay: Bool) throws {
        let bench = try Workbench()
        let owner = try Workbench.keys()
        let registration = try bench.registration(of: owner, Workbench.content())
        bench.submit([registration])
        let source = isFromRelay ? EventSource.relay(.stored) : .socket(authenticated: [])
        let deletion = try deletion(bench, of: [registration], by: owner, kind: "10062")
        var forged = deletion
        forged.signature.first = Bytes32(words: (1, 2, 3, 4))
        bench.submit([forged, try self.deletion(bench, of: [registration], by: try Workbench.keys())], from: source)
        bench.submit([try bench.wrap(to: owner)])
        #expect(bench.kept.count == 1)
        #expect(bench.submit([deletion], from: source).map(\.result) == [.accepted])
        #expect(bench.submit([deletion], from: source).map(\.result) == [.duplicate])
        bench.submit([try bench.wrap(to: owner)])
        #expect(bench.kept.count == 1)
        guard case .refused(let message)? = bench.submit([registration]).first?.result else {
            Issue.record("a deleted registration was taken")
            return
        }
        #expect(message == "blocked: its author deleted this registration: sign a new one")
    }

    @Test func aDeletionThatComesBeforeItsRegistrationCounts() throws {
        let bench = try Workbench()
        let owner = try Workbench.keys()
        let registration = try bench.registration(of: owner, Workbench.content())
        bench.submit([try deletion(bench, of: [registration], by: owner, kind: "10062")], from: .relay(.stored))
        bench.submit([registration], from: .relay(.stored))
        bench.submit([try bench.wrap(to: owner)])
        #expect(bench.kept.isEmpty)
    }

    @Test(arguments: [Deletion.allRelays, "wss://us.example", "wss://elsewhere.example"])
    func requestToVanishDeregistersTheAccount(relay: String) throws {
        let bench = try Workbench(dependencies: PipelineDependencies(isOurRelay: { $0 == "wss://us.example" }))
        let owner = try bench.account()
        let vanish = try bench.event(.requestToVanish, tags: [["relay", relay]], by: owner)
        #expect(bench.submit([vanish], from: .relay(.live)).map(\.result) == [.accepted])
        bench.submit([try bench.wrap(to: owner)])
        #expect(bench.kept.count == (relay == "wss://elsewhere.example" ? 1 : 0))
    }

    @Test func deletedHeldEventIsNotSent() throws {
        let bench = try Workbench.paced()
        let (owner, author) = (try bench.account(mode: "alert"), try Workbench.keys())
        bench.submit([try note(bench, "first", to: owner, by: author)])
        try bench.end()
        let held = try note(bench, "second", to: owner, by: author)
        bench.submit([held])
        #expect(try bench.rows().held == 1)
        // Other authors cannot delete it, and neither can a copy that the author did not sign.
        var forged = try deletion(bench, of: [held], by: author)
        forged.signature.first = Bytes32(words: (1, 2, 3, 4))
        bench.submit([try deletion(bench, of: [held], by: try Workbench.keys()), forged])
        #expect(try bench.rows().held == 1)
        bench.submit([try deletion(bench, of: [held], by: author)], from: .feed)
        #expect(try bench.rows().held == 0)
        #expect(bench.trace(of: held.id).last?.step == .deleted)
        bench.pass(120)
        #expect(bench.kept.count == 1)
    }

    /// The member that handed the deletion over has already ended registrations.
    @Test func partitionsPipelineProcessesOnlyDeletionsOfEvents() throws {
        let bench = try Workbench.paced(feed: IndexFeed(of: 0) { _ in true })
        let (owner, author) = (try Workbench.keys(), try Workbench.keys())
        let registration = try bench.registration(of: owner, Workbench.content(mode: "alert"))
        bench.submit([registration], from: .feed)
        bench.submit([try note(bench, "first", to: owner, by: author)])
        try bench.end()
        let held = try note(bench, "second", to: owner, by: author)
        bench.submit([held])
        #expect(try bench.rows().held == 1)
        bench.submit([try deletion(bench, of: [held], by: author)], from: .relay(.live))
        #expect(try bench.rows().held == 0)
        #expect(bench.trace(of: held.id).last?.step == .deleted)
        bench.submit([try deletion(bench, of: [registration], by: owner, kind: "10062")], from: .relay(.live))
        bench.pass(120)
        bench.submit([try note(bench, "third", to: owner, by: author)])
        #expect(bench.kept.count == 2)
    }

    @Test func aBatchLosesOneOfItsCount() throws {
        let bench = try Workbench.paced()
        let (owner, author) = (try bench.account(mode: "alert"), try Workbench.keys())
        bench.submit([try note(bench, "first", to: owner, by: author)])
        try bench.end()
        let held = try (0..<3).map { try note(bench, "number \($0)", to: owner, by: author) }
        bench.submit(held)
        // Includes the delivery that identifies the batch.
        bench.submit([try deletion(bench, of: [held[0]], by: author)])
        bench.submit([try deletion(bench, of: [held[0]], by: author)])
        bench.pass(61)
        #expect(bench.kept.last?.notification.count == 2)
        try bench.end()
        let more = try (3..<5).map { try note(bench, "number \($0)", to: owner, by: author) }
        bench.submit(more)
        bench.submit([try deletion(bench, of: [more[1]], by: author)])
        bench.pass(61)
        #expect(bench.kept.count == 3)
        #expect(bench.kept.last?.notification.mode == .alert && bench.kept.last?.notification.count == 1)
        #expect(bench.kept.last?.notification.body.contains("number 3") == true)
    }

    /// The push of an event that waited, either with deleted events or without any others.
    private func rest(
        of count: Int,
        at place: Int,
        mode: Mode,
        isRestarted: Bool
    ) throws -> (push: Delivery, trace: [PipelineStep]) {
        let bench = try Workbench.paced(dependencies: PipelineDependencies(sealer: FakeSealer()))
        let (owner, author) = (try bench.account(mode: mode.name), try Workbench.keys())
        bench.submit([try note(bench, "first", to: owner, by: author)])
        try bench.end()
        let held = try (0..<count).map {
            try note(bench, $0 == place ? "what is left" : "number \($0)", to: owner, by: author)
        }
        for note in held { bench.submit([note]) }
        if isRestarted { try bench.restart() }
        for note in held where note != held[place] {
            bench.submit([try deletion(bench, of: [note], by: author)], from: .feed)
        }
        if isRestarted { try bench.restart() }
        bench.pass(61)
        #expect(bench.kept.count == 2)
        return (try #require(bench.kept.last), bench.trace(of: held[place].id).map(\.step))
    }

    /// Some of four are held until the end of the window, and then join the others.
    @Test(arguments: Mode.allCases, [(2, 0), (4, 3)])
    func remainderOfABatchIsSentAsASingleEvent(mode: Mode, rest: (count: Int, place: Int)) throws {
        for isRestarted in [false, true] {
            let alone = try self.rest(of: 1, at: 0, mode: mode, isRestarted: isRestarted)
            let left = try self.rest(of: rest.count, at: rest.place, mode: mode, isRestarted: isRestarted)
            #expect(left.push.notification.count == 1 && left.push.notification.mode == mode)
            #expect(left.push.notification.signal == alone.push.notification.signal)
            #expect(left.push.notification.body == alone.push.notification.body)
            #expect(left.push.notification.neutral == alone.push.notification.neutral)
            #expect(left.push.notification.body.isEmpty == (mode != .alert))
            #expect(left.trace.contains(.queued))
        }
    }

    @Test(arguments: [true, false]) func deletionByAddressRemovesHeldEvents(isRestarted: Bool) throws {
        let yaml = "{ version: 1, rules: [{ signal: x, match: { kinds: [1, 30023] }, title: '{{event.content}}' }] }"
        let bench = try Workbench(rules: try RuleBook(yaml: yaml, name: "rules.yaml"), pacing: PacingPolicy())
        let owner = try bench.account(["x"])
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        let authors = try (0..<2).map { _ in try Workbench.keys() }
        let now = bench.clock.now().seconds
        func article(_ name: String, by author: KeyPair, at moment: Int64) throws -> Event {
            let tags = [["p", owner.publicKey.hex], ["d", name]]
            return try bench.event(Kind(30023), name, tags: tags, by: author, at: moment)
        }
        bench.submit([try article("x", by: authors[0], at: now), try article("y", by: authors[0], at: now)])
        bench.submit([try article("x", by: authors[1], at: now), try article("z", by: authors[1], at: now + 1)])
        if isRestarted { try bench.restart() }
        func delete(_ kind: Kind, _ tag: [String], by author: KeyPair, at moment: Int64) throws {
            bench.submit([try bench.event(kind, tags: [tag], by: author, at: moment)], from: .feed)
        }
        // Events younger than the deletion stay, and so do those of other authors.
        try delete(.deletion, ["a", "30023:\(authors[0].publicKey.hex):x"], by: authors[0], at: now - 1)
        try delete(.deletion, ["a", "30023:\(authors[0].publicKey.hex):x"], by: authors[1], at: now)
        try delete(.requestToVanish, ["relay", "wss://elsewhere.example"], by: authors[1], at: now)
        try delete(.deletion, ["a", "30023:\(authors[0].publicKey.hex):x"], by: authors[0], at: now)
        try delete(.requestToVanish, ["relay", Deletion.allRelays], by: authors[1], at: now)
        try delete(.deletion, ["a", "30023:\(authors[0].publicKey.hex):y"], by: authors[0], at: now)
        bench.pass(61)
        #expect(bench.kept.count == 2)
        #expect(bench.kept.last?.notification.title == "z" && bench.kept.last?.notification.count == 1)
    }

    @Test func deletedReplacementSendsThePreviousEvent() throws {
        let yaml = """
            version: 1
            rules: [{ match: { kinds: [1] }, pace: latest, title: "{{event.content}}" }]
            """
        let rules = try RuleBook(yaml: yaml, name: "rules.yaml")
        let bench = try Workbench(rules: rules, pacing: PacingPolicy())
        let (owner, author) = (try bench.account(mode: "alert"), try Workbench.keys())
        bench.submit([try note(bench, "first", to: owner, by: author)])
        try bench.end()
        var edits = try ["second", "third"].map { try note(bench, $0, to: owner, by: author) }
        for edit in edits { bench.submit([edit]) }
        // The second has already been replaced.
        bench.submit([try deletion(bench, of: [edits[0]], by: author)])
        #expect(try bench.rows().held == 1)
        bench.pass(61)
        #expect(bench.kept.last?.notification.title == "third" && bench.kept.count == 2)
        try bench.end()
        edits = try ["fourth", "fifth"].map { try note(bench, $0, to: owner, by: author) }
        for edit in edits { bench.submit([edit]) }
        bench.submit([try deletion(bench, of: [edits[1]], by: author)])
        #expect(try bench.rows().held == 1)
        bench.pass(61)
        #expect(bench.kept.last?.notification.title == "fourth" && bench.kept.count == 3)
        try bench.end()
        edits = try ["sixth", "seventh"].map { try note(bench, $0, to: owner, by: author) }
        for edit in edits { bench.submit([edit]) }
        bench.submit([try deletion(bench, of: edits, by: author)])
        #expect(try bench.rows().held == 0)
        bench.pass(120)
        #expect(bench.kept.count == 3)
    }

    @Test func heldEventsAreDeletedAfterARestart() throws {
        let bench = try Workbench.paced()
        let (owner, author) = (try bench.account(mode: "alert"), try Workbench.keys())
        bench.submit([try note(bench, "first", to: owner, by: author)])
        try bench.end()
        let held = try note(bench, "second", to: owner, by: author)
        bench.submit([held])
        try bench.restart()
        bench.submit([held], from: .relay(.fetched))
        bench.submit([try deletion(bench, of: [held], by: try Workbench.keys())])
        #expect(try bench.rows().held == 1)
        bench.submit([try deletion(bench, of: [held], by: author)], from: .feed)
        #expect(try bench.rows().held == 0)
    }

    @Test func eventDeletedBeforeItArrivedSendsNoPush() throws {
        let bench = try Workbench()
        let (owner, author) = (try bench.account(), try Workbench.keys())
        let late = try note(bench, "late", to: owner, by: author)
        bench.submit([try deletion(bench, of: [late], by: author)])
        #expect(bench.submit([late]).map(\.result) == [.accepted])
        #expect(bench.kept.isEmpty)
        #expect(bench.trace(of: late.id).last?.step == .deleted)
    }

    /// Relays deliver in any order, and the author may be unknown.
    @Test(arguments: ["e", "a", "vanish"]) func aDeletionOfARelayMayComeBeforeItsEvent(by kind: String) throws {
        let yaml = "{ version: 1, rules: [{ signal: x, match: { kinds: [30023] }, title: '{{event.content}}' }] }"
        let bench = try Workbench(rules: try RuleBook(yaml: yaml, name: "rules.yaml"), pacing: PacingPolicy())
        let (owner, author) = (try bench.account(["x"]), try Workbench.keys())
        let now = bench.clock.now().seconds
        func article(_ content: String, at moment: Int64) throws -> Event {
            let tags = [["p", owner.publicKey.hex], ["d", "x"]]
            return try bench.event(Kind(30023), content, tags: tags, by: author, at: moment)
        }
        let late = try article("late", at: now)
        func deletion(by keys: KeyPair) throws -> Event {
            switch kind {
            case "e": try self.deletion(bench, of: [late], by: keys, kind: "30023")
            case "a":
                try bench.event(.deletion, tags: [["a", "30023:\(keys.publicKey.hex):x"]], by: keys, at: now)
            default: try bench.event(.requestToVanish, tags: [["relay", "ALL_RELAYS"]], by: keys, at: now)
            }
        }
        bench.submit([try deletion(by: try Workbench.keys())], from: .relay(.live))
        var forged = try deletion(by: author)
        forged.signature.first = Bytes32(words: (1, 2, 3, 4))
        bench.submit([forged], from: .relay(.live))
        bench.submit([try deletion(by: author)], from: .relay(.live))
        bench.submit([late], from: .relay(.live))
        #expect(bench.kept.isEmpty)
        #expect(bench.trace(of: late.id).last?.step == .deleted)
        bench.submit([try article("another version", at: now + 1)], from: .relay(.live))
        #expect(bench.kept.map(\.notification.title) == ["another version"])
    }

    /// A pushed event may still wait in the outbox, even if its author is otherwise unknown.
    @Test(arguments: [false, true]) func deletionOfAPushedEventReachesTheOutbox(isRestarted: Bool) throws {
        let bench = try Workbench.paced()
        let (owner, author) = (try bench.account(mode: "alert"), try Workbench.keys())
        let pushed = try note(bench, "pushed", to: owner, by: author)
        bench.submit([pushed])
        if isRestarted { try bench.restart() }
        bench.submit([try deletion(bench, of: [try bench.note(to: owner)], by: try Workbench.keys())], from: .feed)
        #expect(try bench.outbox?.withdrawals() == [])
        bench.submit([try deletion(bench, of: [pushed], by: author)], from: .feed)
        bench.submit([try bench.event(.requestToVanish, tags: [["relay", "ALL_RELAYS"]], by: author)], from: .feed)
        let origin = try #require(bench.kept.first?.notification.origin)
        #expect(origin == EventOrigin(pushed))
        let scopes = try bench.outbox?.withdrawals().filter { $0.author == origin.author }.map(\.scope)
        #expect(scopes == [.event(origin.event), .everything])
        // After a restart the event is still known as deleted.
        try bench.restart()
        let again = try note(bench, "before it vanished", to: owner, by: author)
        bench.submit([again])
        #expect(bench.trace(of: again.id).last?.step == .deleted)
    }

    @Test func irrelevantDeletionIsNotVerified() throws {
        let bench = try Workbench()
        var deletion = try deletion(bench, of: [], by: try Workbench.keys())
        deletion.signature.first = Bytes32(words: (1, 2, 3, 4))
        bench.submit([deletion], from: .feed)
        #expect(bench.count(.unaddressed) == 1 && bench.count(.forged) == 0)
    }

    @Test func theContextForgetsWhatItsAuthorDeletes() throws {
        let (author, stranger) = (try Workbench.keys(), try Workbench.keys())
        let note = try Event.signed(kind: .textNote, createdAt: 5, content: "secret", by: author)
        let profile = try Event.signed(kind: .profile, createdAt: 5, content: #"{"name":"ada"}"#, by: author)
        func deletion(_ tags: [[String]], by keys: KeyPair) throws -> Deletion {
            try #require(Deletion(Event.signed(kind: .deletion, createdAt: 9, tags: tags, content: "", by: keys)))
        }
        var context = EventContext()
        context.learn(note, at: 1)
        context.learn(profile, at: 1)
        let address = ["a", "0:\(author.publicKey.hex):"]
        context.forget(try deletion([["e", note.id.hex], address], by: stranger))
        #expect(context.referenced(note.id).content == "secret")
        context.forget(try deletion([["e", note.id.hex], address], by: author))
        #expect(context.referenced(note.id).content == nil)
        #expect(context.name(of: author.publicKey) != "ada")
        context.learn(note, at: 1)
        context.learn(profile, at: 1)
        context.forget(everythingBy: author.publicKey, until: 9)
        #expect(context.referenced(note.id).content == nil)
        #expect(context.name(of: author.publicKey) != "ada")
    }
}
