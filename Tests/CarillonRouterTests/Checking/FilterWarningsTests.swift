import Pipeline
import PlatformTestSupport
import Push
import Rules
import Storage
import Testing

@testable import CarillonRouter
@testable import Operations
@testable import RouterConfiguration

/// Filter settings that are probably not intended.
@Suite struct FilterWarningsTests {
    /// The filters' needs are those that plugins would report.
    private func doubts(
        _ text: String,
        _ needs: [String: FollowNeed] = [:],
        rules: String? = nil
    ) throws -> [String] {
        let reader = ConfigurationReader(name: "carillon.yaml", folder: "/", environment: { _ in nil })
        var configuration = try reader.read("identity: { key_file: k }\nstore: { path: s }\n" + text)
        configuration.file = "carillon.yaml"
        let book = try rules.map { try RuleBook(yaml: "version: 1\nrules:\n" + $0, name: "rules", platforms: .builtIn) }
        let filters = configuration.filters.map { filter in
            var asked = EventFilter(name: filter.name) { $0.map { _ in .pass } }
            asked.need = needs[filter.name] ?? .nothing
            return asked
        }
        return FilterWarnings(configuration, try book ?? RuleBook.builtIn(platforms: .builtIn), filters).found.map {
            "\($0)"
        }
    }

    private func signals(_ names: String, rules: String? = nil) throws -> [String] {
        try doubts("filter_plugins: { noise: { settings: { except: [\(names)] } } }", rules: rules)
    }

    @Test func validFilterSettingsGetNoWarning() throws {
        let noise = "{ settings: { except: [dm, zap], difficulty: 8 } }"
        #expect(try doubts("filter_plugins: { mutes: {}, noise: \(noise) }").isEmpty)
        #expect(try doubts("").isEmpty)
    }

    @Test(arguments: [
        ("dms", "filter_plugins.noise.settings.except[0]: no signal is called 'dms'; did you mean 'dm'?"),
        ("DM", "filter_plugins.noise.settings.except[0]: no signal is called 'DM'; did you mean 'dm'?"),
        (
            "everything",
            "filter_plugins.noise.settings.except[0]: no signal is called 'everything'; "
                + "there are: dm, mention, reply, reaction, repost, follow, zap"
        ),
    ])
    func unknownSignalIsReported(name: String, doubt: String) throws {
        #expect(try signals(name) == ["carillon.yaml:3:49: " + doubt])
    }

    @Test func signalOfTheRulesIsKnown() throws {
        let rules = "  - { match: { kinds: [30402] }, signal: offer, title: an offer }\n"
        #expect(try signals("offer", rules: rules).isEmpty)
        #expect(try signals("ofer", rules: rules).first?.hasSuffix("'ofer'; did you mean 'offer'?") == true)
        #expect(try signals("offer").count == 1)
    }

    @Test func difficultySignalsAreCheckedToo() throws {
        let found = try doubts("filter_plugins: { noise: { settings: { difficulty: { mentoin: 3, reply: 3 } } } }")
        let path = "filter_plugins.noise.settings.difficulty.mentoin"
        let doubt = "\(path): no signal is called 'mentoin'; did you mean 'mention'?"
        #expect(found.count == 1 && found.first?.hasSuffix(doubt) == true)
    }

    private static let trust = "filter_plugins:\n  web-of-trust: { settings: { level: follows-of-follows } }\n"

    @Test func filterNeedingRelaysWithoutRelaysIsWarnedAbout() throws {
        let needs = ["web-of-trust": FollowNeed.distance]
        let doubt =
            "carillon.yaml:4:1: filter_plugins.web-of-trust: it asks relays whether accounts that the recipient follows "
            + "follow the author, but relays.always is empty"
        #expect(try doubts(Self.trust, needs) == [doubt])
        #expect(try doubts(Self.trust, ["web-of-trust": .followed]).isEmpty)
        #expect(try doubts(Self.trust + "relays: { always: [\"wss://relay.example\"] }", needs).isEmpty)
        // Those relays belong to the operator too.
        #expect(try doubts(Self.trust + "relays: { nip46: [\"wss://relay.example\"] }", needs).isEmpty)
    }

    @Test func filterNeedingRelaysWithoutWaitTimeIsWarnedAbout() throws {
        let block = "relays: { always: [\"wss://relay.example\"] }\ncontext: { wait_milliseconds: 0 }\n"
        let found = try doubts(Self.trust + block, ["web-of-trust": .distance])
        #expect(found.count == 1)
        #expect(found.first?.contains("but with context.wait_milliseconds at 0 it does not wait") == true)
    }
}
