import Core
import JSON
import PlatformTestSupport
import Push
import Testing

@testable import Rules

/// Notifications that clients ask for in JSON, read as rules are.
struct RequestedRuleTests {
    private static func rule(_ json: String) throws -> Rule {
        guard case .object(let object) = try JSONValue(parsing: json) else { throw CancellationError() }
        return try Rule.requested(
            object,
            by: RuleBook(yaml: "version: 1\nrules: []\nnudge: { title: Something }", name: "test", platforms: .builtIn),
            name: "api",
            platforms: .builtIn,
            blockChecks: [:]
        )
    }

    private static func mistakes(_ json: String) -> [String: String] {
        do {
            _ = try rule(json)
            return [:]
        } catch let error as RequestedRuleError {
            return Dictionary(error.mistakes.map { ($0.pointer, $0.message) }) { first, _ in first }
        } catch {
            return ["": "\(error)"]
        }
    }

    @Test func requestedTextsAreVerbatim() throws {
        let json = """
            {"title": "{{event.content}} ${HOME}", "body": "{{", "data": {"a": "{{count}}", "b": 7, "c": [true, null]},
             "url": "app://{{x}}", "apns": {"sound": "{{event.id}}", "badge": 3}, "key": "{{y}}", "pace": "latest"}
            """
        let input = Fixture.input(kind: 20_063, content: "content")
        let rendered = try Self.rule(json).render(input, signal: Signal(rawValue: "notification"), mode: .alert)
        #expect(rendered.title == "{{event.content}} ${HOME}" && rendered.body == "{{" && rendered.url == "app://{{x}}")
        #expect(rendered.data == #"{"a":"{{count}}","b":7,"c":[true,null]}"#)
        #expect(rendered.native["ios"]?.contains(#""sound":"{{event.id}}""#) == true)
        let nudge = try Self.rule(json).render(input, signal: Signal(rawValue: "notification"), mode: .nudge)
        #expect(nudge.neutral.title == "Something" && nudge.title.isEmpty)
    }

    @Test func requestedNumbersAreVerbatim() throws {
        let json = #"{"title": "a", "data": {"number": 12345678901234567890, "small": -0.10, "e": 1E2}}"#
        let input = Fixture.input(kind: 20_063)
        let rendered = try Self.rule(json).render(input, signal: Signal(rawValue: "notification"), mode: .alert)
        #expect(rendered.data == #"{"number":12345678901234567890,"small":-0.10,"e":1E2}"#)
        #expect(Self.mistakes(#"{"title": "a", "data": {"n": 1e999}}"#).keys.sorted() == ["/data/n"])
    }

    @Test func pluginsAcceptAtMost256Keys() {
        let members = (1...257).map { "\"k\($0)\": \($0)" }
        func json(_ count: Int) -> String {
            "{\"title\": \"a\", \"data\": {\(members.prefix(count).joined(separator: ","))}}"
        }
        #expect(Self.mistakes(json(256)).isEmpty)
        #expect(Self.mistakes(json(257)).keys.sorted() == ["/data"])
    }

    @Test func everyErrorIsNamedByItsPlace() {
        #expect(Self.mistakes(#"{"title": "a"}"#).isEmpty)
        #expect(Self.mistakes(#"{"titel": "a"}"#)["/titel"]?.contains("did you mean 'title'?") == true)
        #expect(Self.mistakes(#"{"title": ["a"]}"#)["/title"] != nil)
        #expect(Self.mistakes(#"{"title": "a", "mode": "loud"}"#)["/mode"] != nil)
        #expect(
            Self.mistakes(#"{"title": "a\nb"}"#)["/title"]
                == "expected one line (a block that starts with | or > ends with a line break; |- and >- do not)"
        )
        #expect(Self.mistakes(#"{"actions": [{"id": "a", "label": "b"}, {"label": "c"}]}"#)["/actions/1"] != nil)
        #expect(Self.mistakes(#"{"data": {"a/b": 1, "title": 2}}"#).keys.sorted() == ["/data/title"])
        #expect(Self.mistakes(#"{"apns": {"a/b~c": 1}}"#)["/apns/a~1b~0c"] != nil)
        #expect(Self.mistakes(#"{"apns": {"badge": "{{count}}x"}}"#)["/apns/badge"] != nil)
        let unknown = Self.mistakes(#"{"event_data": true, "title": "a"}"#)["/event_data"]
        #expect(unknown?.contains("; known here: title, ") == true && unknown?.contains(", event_data") == false)
        #expect(Self.mistakes(#"{"match": {}, "name": "x", "signal": "dm", "drop": true}"#).count == 4)
    }
}
