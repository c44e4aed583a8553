import Cipher
import Delivery
import Nostr
import Notifications
import PlatformTestSupport
import Registry
import Rules
import Testing
import TimeTestSupport
import Units

@testable import Pipeline

/// Kinds 5 and 62 through the pipeline: what their authors take back is told no more.
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

    @Test(arguments: [true, false]) func aDeletedRegistrationWakesNobody(isFromRelay: Bool) throws {
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
    func whoAsksUsToBeForgottenIs(relay: String) throws {
        let bench = try Workbench(dependencies: PipelineDependencies(isOurRelay: { $0 == "wss://us.example" }))
        let owner = try bench.account()
        let vanish = try bench.event(.requestToVanish, tags: [["relay", relay]], by: owner)
        #expect(bench.submit([vanish], from: .relay(.live)).map(\.result) == [.accepted])
        bench.submit([try bench.wrap(to: owner)])
        #expect(bench.kept.count == (relay == "wss://elsewhere.example" ? 1 : 0))
    }

    @Test func whatIsHeldIsToldNoMore() throws {
        let bench = try Workbench.paced()
        let (owner, author) = (try bench.account(mode: "alert"), try Workbench.keys())
        bench.submit([try note(bench, "first", to: owner, by: author)])
        try bench.end()
        let held = try note(bench, "second", to: owner, by: author)
        bench.submit([held])
        #expect(try bench.rows().held == 1)
        // Nobody else can have it forgotten, nor can a copy that the author never signed.
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

    /// Whoever handed the deletion over has ended registrations.
    @Test func thePipelineOfAPartitionOnlyTakesBackEvents() throws {
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
        // The one that the batch goes by among them.
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
    }

    @Test func ofEventsThatReplaceEachOtherTheOneThatIsSaidIsTakenBack() throws {
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
        // The second has given way already.
        bench.submit([try deletion(bench, of: [edits[0]], by: author)])
        #expect(try bench.rows().held == 1)
        bench.pass(61)
        #expect(bench.kept.last?.notification.title == "third" && bench.kept.count == 2)
        try bench.end()
        edits = try ["fourth", "fifth"].map { try note(bench, $0, to: owner, by: author) }
        for edit in edits { bench.submit([edit]) }
        bench.submit([try deletion(bench, of: [edits[1]], by: author)])
        #expect(try bench.rows().held == 0)
        bench.pass(120)
        #expect(bench.kept.count == 2)
    }

    @Test func afterARestartWhatIsHeldIsFoundByTheNotesThatAreKnown() throws {
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

    @Test func anEventThatWasDeletedBeforeItCameIsNotTold() throws {
        let bench = try Workbench()
        let (owner, author) = (try bench.account(), try Workbench.keys())
        let late = try note(bench, "late", to: owner, by: author)
        bench.submit([try deletion(bench, of: [late], by: author)])
        #expect(bench.submit([late]).map(\.result) == [.accepted])
        #expect(bench.kept.isEmpty)
        #expect(bench.trace(of: late.id).last?.step == .deleted)
    }

    @Test func aDeletionThatConcernsNothingIsNotVerified() throws {
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
