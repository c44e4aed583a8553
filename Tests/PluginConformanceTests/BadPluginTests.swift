import Core
import PluginConformance
import Testing

/// A plugin with one error fails the check for that error, and the report shows the fix.
@Suite(.timeLimit(.minutes(3)))
struct BadPluginTests {
    struct Mistake: Sendable, CustomTestStringConvertible {
        let behaviour: String
        let check: ConformanceCheck
        let advice: String

        init(_ behaviour: String, _ check: ConformanceCheck, _ advice: String) {
            (self.behaviour, self.check, self.advice) = (behaviour, check, advice)
        }

        var testDescription: String { behaviour }
    }

    /// Fixtures that do not complete deliveries, so that a wait for them fails.
    private static let lost: Set = ["never", "half-ticket", "share", "lose-cancelled", "keep-mum", "many-half", "deaf"]

    @Test(arguments: [
        Mistake(
            "refuse-all",
            .deliver,
            "no delivery led to a request (deliver returns 3; deliver returns 4; validate refuses"
        ),
        Mistake("idle", .deliver, "a delivery ends as CARILLON_RETRY without a request"),
        Mistake("twice", .completesOnce, "call host->complete once"),
        Mistake("half-ticket", .completesOnce, "keep the ticket's 64 bits"),
        Mistake("refuse-and-end", .completesOnce, "leave the ticket alone"),
        Mistake("never", .completes, "call host->complete exactly once"),
        Mistake("unheard-of", .outcome, "none of carillon_outcome_kind"),
        Mistake("wordy", .outcome, "at most 40 of a-z"),
        Mistake("gone-offline", .networkFailure, "make it CARILLON_RETRY"),
        Mistake("drop-on-500", .serverError, "make it CARILLON_RETRY"),
        Mistake("seconds", .throttling, "these are milliseconds"),
        Mistake("gone-on-401", .refusal, "deletes the registration"),
        Mistake("pleased", .oddAnswers, "became CARILLON_DELIVERED"),
        Mistake("drop-when-busy", .refusedRequest, "return CARILLON_BUSY"),
        Mistake("impure", .validate, "validate must be pure"),
        Mistake("mute", .errorText, "write to the carillon_error"),
        Mistake("boast", .errorText, "set it to what you wrote"),
        Mistake("overrun", .errorText, "write at most `capacity` bytes"),
        Mistake("inject", .hostileText, "control characters"),
        Mistake("unescaped", .hostileText, "escape quotes"),
        Mistake("unsealed", .modes, "encrypt, or return CARILLON_UNSUPPORTED"),
        Mistake("any-mode", .modes, "return CARILLON_UNSUPPORTED for every mode"),
        Mistake("trusting", .userURLs, "a URL of the registration"),
        Mistake("peek", .userURLs, "a URL of the notification"),
        Mistake("follow", .userURLs, "a URL of a redirect"),
        Mistake("tattle", .secrets, "never log tokens"),
        Mistake("share", .instances, "keep the ticket's 64 bits"),
        Mistake("lose-cancelled", .cancel, "call host->complete exactly once"),
        Mistake("wide", .outcome, "none of carillon_scope"),
        Mistake("crooked-word", .requests, "connection is not a word of at most 128 printable bytes"),
        Mistake("crooked-certificate", .requests, "it presents a certificate, but connection: expected a word"),
        Mistake("new-words", .requests, "use the same one as long as the credentials are the same"),
        Mistake("hectic", .services, "every_ms is 0 or at least 10"),
        Mistake("hoard", .services, "a value has at most 16 KiB"),
        Mistake("odd-key", .services, "a key is 1 to 64 printable ASCII bytes"),
        Mistake("brittle", .services, "ignore invalid stored values"),
        Mistake("crooked-stream", .requests, "the host could not serve a stream: port is not between 1 and 65535"),
        Mistake("hasty-stream", .requests, "wait before the next"),
        Mistake("keep-mum", .command, "call done exactly once"),
        Mistake("repeat", .command, "call done once"),
        Mistake("answer-and-refuse", .command, "do not call done"),
        Mistake("agree", .command, "a command that it cannot know"),
        Mistake("mumble", .command, "it must list the commands"),
        Mistake("garble", .command, "not UTF-8"),
        Mistake("many-half", .deliverMany, "call host->complete exactly once"),
        Mistake("many-twice", .deliverMany, "call host->complete once"),
        Mistake("many-refused", .deliverMany, "leave the ticket alone"),
        Mistake("deaf", .receive, "call done exactly once"),
        Mistake("double", .receive, "or twice"),
        Mistake("receive-and-refuse", .receive, "did not accept"),
        Mistake("framing", .receive, "do not frame the message"),
        Mistake("informal", .receive, "a status from 200 to 599"),
    ])
    func oneErrorFailsOneCheck(_ mistake: Mistake) async throws {
        let workshop = try Workshop()
        let timeout: Duration = Self.lost.contains(mistake.behaviour) ? .milliseconds(1500) : .seconds(20)
        let plan = try workshop.plan(Workshop.misbehaving, doing: mistake.behaviour, timeout: timeout)
        let report = await PluginConformance.check(plan)
        expect(mistake.check, mistake.advice, report)
        #expect(!report.isPassed)
    }

    @Test(arguments: [
        Mistake("no-verdict", .decision, "write one to *verdict"),
        Mistake("third-verdict", .decision, "none of carillon_verdict"),
        Mistake("long-reason", .decision, "at most 60 printable ASCII bytes"),
        Mistake("edit-early", .decision, "which the host does not take here"),
        Mistake("undecided", .decide, "could not decide about"),
        Mistake("quote", .secrets, "repeats content or a key"),
        Mistake("tattle", .secrets, "never log an event's content"),
        Mistake("greedy", .needs, "more than the filter's flags allow"),
        Mistake("exact-size", .newerHost, "compare struct_size"),
    ])
    func oneErrorOfAFilterFailsOneCheck(_ mistake: Mistake) async throws {
        let workshop = try Workshop()
        let plan = try workshop.plan(Workshop.filter, doing: mistake.behaviour)
        expect(mistake.check, mistake.advice, await PluginConformance.check(plan))
    }

    /// Expects exactly one failed check, with these words in its message.
    private func expect(_ check: ConformanceCheck, _ words: String, _ report: ConformanceReport) {
        #expect(report.failures.map(\.check) == [check])
        #expect(words.isEmpty || report.failures.first?.text.contains(words) == true, "\(report)")
    }

    /// Hosts ignore these errors, or never reach them.
    @Test(arguments: [
        (#""smell":1"#, "/smell: version 1 of the format does not know this"),
        (
            #""rules":{"properties":{"a":{"type":"string","colour":"red"}}}"#,
            "/rules/properties/a/colour: version 1 of the format does not know this"
        ),
        (
            #""rules":{"properties":{"a":{"type":"strin"}}}"#,
            "/rules/properties/a/type: version 1 of the format does not know this"
        ),
        (#""fields":[{"name":"a"},{"name":"a"}]"#, "/fields/1/name: there are two fields a"),
        (#""fields":[{"name":"a","for":"voip"}]"#, "/fields/0/for: there is no kind of push voip"),
        (
            #""pushes":{"kinds":[{"name":"a","nature":"alert","pace":"batch"},{"name":"b","nature":"alert","pace":"batch"}]}"#,
            "/pushes/kinds/1: no push is of this kind"
        ),
        (
            #""rules":{"properties":{"a":{"type":"string"}},"checks":[{"when":{"kind":["b"]},"refuse":["a"],"message":"x"}]}"#,
            "/rules/checks/0/when/kind: there is no kind of push b"
        ),
        (
            #""rules":{"properties":{"a":{"type":"string"}},"checks":[{"refuse":["b"],"message":"x"}]}"#,
            "/rules/checks/0: there is no key b"
        ),
        (#""rules":{"properties":{"a":{"type":"string"}},"required":["b"]}"#, "/rules/required: there is no key b"),
        (
            #""rules":{"properties":{"a":{"type":"string"}}},"presentation":[{"key":"b"}]"#,
            "/presentation/0/key: the rule block has no key b"
        ),
        (
            #""configuration":{"schema":{"properties":{"a":{"type":"string"}}},"environment":{"A":{"key":"b"}}}"#,
            "/configuration/environment/A/key: the block has no key b"
        ),
        (
            #""configuration":{"schema":{"properties":{"a_file":{"type":"integer","file":true}}}}"#,
            "/configuration/schema/properties/a_file/file: version 1 of the format does not know this"
        ),
        (#""sample":{"configuration":{"do":"nothing"}}"#, "/sample/token: expected a made-up target"),
        (#""sample":{"token":"https://x.example/"}"#, "/sample/configuration: its create refuses it"),
        (
            #""sample":{"token":"x","configuration":{"do":"nothing"}}"#,
            "/sample/token: its validate refuses it: expected an https:// URL"
        ),
        (
            #""target":{"kind":"token","pattern":"^a"},"sample":{"token":"b"}"#,
            "/sample/token: it does not match /target/pattern"
        ),
        (#""fields":[{"name":"a","required":true}]"#, "/sample/fields: the required field a is missing"),
        (#""sample":{"token":"x","fields":{"b":"c"}}"#, "/sample/fields/b: there is no such field"),
        (#""target":{"kind":"subscription"}"#, "/sample/fields: a subscription has the keys p256dh and auth"),
    ])
    func errorInADescriptionIsNamed(member: String, words: String) async throws {
        let workshop = try Workshop()
        var members = [#""version":1,"name":"Fixture""#, member]
        if !member.contains("\"target\"") { members.append(#""target":{"kind":"token"}"#) }
        if !member.contains("\"sample\"") {
            members.append(#""sample":{"token":"https://x.example/","configuration":{"do":"nothing"}}"#)
        }
        let document = "{\(members.joined(separator: ","))}".replacing("\"", with: "\\\"")
        let plan = try workshop.plan(Workshop.misbehaving, doing: "nothing", [#"-DDESCRIBE="\#(document)""#])
        expect(.describe, words, await PluginConformance.check(plan))
    }

    @Test func malformedDescriptionFailsToLoad() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(
            path: try workshop.compile(Workshop.misbehaving, #"-DDESCRIBE="{\"version\":1}""#)
        )
        #expect(report.results.map(\.check) == [.load])
        #expect(report.failures.first?.text.contains("'name' is missing") == true)
    }

    @Test(arguments: [
        Mistake("moody", .checkBlock, "the same every time"),
        Mistake("pointless", .checkBlock, "starts with a JSON pointer"),
        Mistake("silent", .errorText, "write to the carillon_error"),
    ])
    func errorInABlockCheckIsNamed(_ mistake: Mistake) async throws {
        let workshop = try Workshop()
        let plan = try workshop.plan(Workshop.misbehaving, doing: "nothing", ["-DCHECK=\(mistake.behaviour)"])
        expect(mistake.check, mistake.advice, await PluginConformance.check(plan))
    }

    /// Its URLs have an unusual form, so that only its own sample shows its behavior.
    @Test func unguardedRequestToItsOwnSampleIsDetected() async throws {
        let workshop = try Workshop()
        let path = try workshop.compile(
            Workshop.misbehaving,
            #"-DDESCRIBE="{\"version\":1,\"name\":\"Fixture\",\"target\":{\"kind\":\"token\"},"#
                + #"\"sample\":{\"token\":\"https://own.example/\",\"configuration\":{\"do\":\"own-host\"}}}""#
        )
        expect(.userURLs, "a URL of the registration", await PluginConformance.check(path: path))
    }

    @Test func changingDescriptorIsRefused() async throws {
        let workshop = try Workshop()
        let plan = try workshop.plan(Workshop.misbehaving, doing: "nothing", ["-DCHANGING"])
        expect(.descriptor, "", await PluginConformance.check(plan))
    }

    @Test func unloadablePluginFailsTheLoadCheck() async throws {
        let report = await PluginConformance.check(path: "/nowhere/x.so")
        #expect(report.results.map(\.check) == [.load])
        #expect(report.failures.first?.text == "cannot be read: No such file or directory")
    }
}
