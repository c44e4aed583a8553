import Foundation
import Nostr
import Pipeline
import Push
import Rules
import Testing

@testable import CarillonRouter
@testable import Operations

@Suite struct FixtureTests {
    /// The signal that the match stage assigns to each; the others get a signal from rules only.
    private static let signals: [String: Signal] = [
        "like": .reaction, "reaction": .reaction, "custom-emoji": .reaction, "dislike": .reaction, "repost": .repost,
        "generic-repost": .repost, "audio-repost": .repost, "reply": .reply, "mention": .mention, "quote": .mention,
        "comment": .reply, "hellthread": .mention, "audio-note": .mention, "dm": .dm, "chat": .dm, "gift-wrap": .dm,
        "ephemeral-gift-wrap": .dm, "zap": .zap, "small-zap": .zap, "large-zap": .zap, "follow": .follow,
        "batch": .mention,
    ]

    @Test func everyFixtureIsAValidEvent() throws {
        for fixture in try Fixture.all() {
            #expect(throws: Never.self, "\(fixture.name)") { try fixture.event.verify() }
            #expect(try Event(json: Array(fixture.json.utf8)) == fixture.event, "\(fixture.name)")
        }
    }

    @Test func everyFixtureHasItsRelevance() throws {
        let fixtures = try Fixture.all()
        #expect(fixtures.map(\.name).sorted() == (Self.signals.keys + ["wallet-request", "signer-request"]).sorted())
        for fixture in fixtures {
            let concern = try Relevance.classify(fixture.event, for: fixture.recipient) {
                $0 == fixture.referenced?.id ? [fixture.recipient] : nil
            }
            #expect(concern.signal == Self.signals[fixture.name], "\(fixture.name)")
            #expect(concern.openQuestion == nil, "\(fixture.name)")
            #expect(concern.referencedID == fixture.referenced?.id, "\(fixture.name)")
        }
    }

    @Test func fixturesHaveTheirRelations() throws {
        let relations = try Dictionary(
            uniqueKeysWithValues: Fixture.all().map { fixture in
                (fixture.name, try Relevance.classify(fixture.event, for: fixture.recipient).relation)
            }
        )
        #expect(relations["reply"] == .reply && relations["comment"] == .reply)
        #expect(relations["quote"] == .quote && relations["mention"] == .mention)
    }

    @Test func fixtureZapsHaveTheirAmounts() throws {
        let amounts = try Fixture.all().filter { $0.event.kind == .zapReceipt }.map { fixture in
            try ZapReceipt(fixture.event).millisats
        }
        #expect(amounts == [2_100_000, 10_000, 210_000_000])
    }
}
