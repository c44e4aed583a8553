import Core
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

struct RegistrationContentTests {
    @Test func readsTheSeedsOwnExample() throws {
        let content = try RegistrationContent(
            """
            {"token": "<apns_token>", "platform": "ios",
             "filters": {"dm": true, "mention": true, "reply": false, "reaction": false},
             "quiet": {"start": "23:00", "end": "07:00", "tz": "UTC+9", "dm_bypass_quiet": true},
             "batch": {"window_seconds": 30, "cooldown_seconds": 60}}
            """
        )
        #expect(content.platform == "ios")
        #expect(content.app == "default")
        #expect(content.token == "<apns_token>")
        #expect(content.fields.isEmpty)
        #expect(content.signals == [.dm, .mention])
        #expect(content.mode == nil)
        #expect(content.quiet?.start.minutes == 23 * 60)
        #expect(content.quiet?.end.minutes == 7 * 60)
        #expect(content.quiet?.zone.minutesAhead(at: 0) == 540)
        #expect(content.quiet?.letsDirectMessagesThrough == true)
        #expect(content.batch == BatchPreferences(window: .seconds(30), cooldown: .minutes(1)))
        #expect(!content.shared)
    }

    @Test func signalsDefaultToMessagesMentionsAndReplies() throws {
        #expect(try content().signals == [.dm, .mention, .reply])
        #expect(try content(#""filters": {}"#).signals.isEmpty)
        #expect(try content(#""filters": null"#).signals == [.dm, .mention, .reply])
        #expect(try content(#""filters": {"zap": true, "dm": false}"#).signals == [.zap])
        #expect(
            try content(#""signals": {"wallet.request": true, "reply": false}"#).signals.map(\.rawValue).sorted()
                == ["dm", "mention", "wallet.request"]
        )
    }

    @Test(arguments: ["filters", "signals"])
    func unknownSignalIsRefused(field: String) throws {
        let check: SignalCheck = { $0 == "mention" ? nil : "a signal; did you mean 'mention'?" }
        let json = { (name: String, value: String) in
            #"{"platform":"ios","token":"t","\#(field)":{"\#(name)":\#(value)}}"#
        }
        #expect(throws: Never.self) {
            _ = try RegistrationContent(json("mention", "true"), checkingSignals: check)
            // An accepted registration can be read even if the rules have changed since.
            _ = try RegistrationContent(json("mentoin", "true"))
        }
        for value in ["true", "false"] {
            let refusal = try #require(throws: RegistrationError.self) {
                try RegistrationContent(json("mentoin", value), checkingSignals: check)
            }
            #expect(
                refusal.description
                    == "invalid: registration field `\(field).mentoin`: expected a signal; did you mean 'mention'?"
            )
        }
    }

    @Test func refusesFiltersAndSignalsThatContradictEachOther() {
        expectRefusal(
            #""filters": {"dm": true}, "signals": {"dm": false}"#,
            "invalid: registration field `signals.dm`: expected the same as in `filters`"
        )
    }

    @Test func browserSubscriptionIsAccepted() throws {
        let content = try RegistrationContent(Samples.web())
        #expect(content.token == "https://push.example.com/abc")
        #expect(content.fields == ["p256dh": Samples.p256dh, "auth": Samples.auth])
        let padded = try RegistrationContent(
            Samples.web(p256dh: Samples.p256dh + "=", auth: Samples.auth.replacing("_", with: "/") + "==")
        )
        #expect(padded.fields == content.fields)
    }

    /// Seed 004: `push_endpoint` is for web, too.
    @Test(arguments: ["web", "unifiedpush"])
    func takesAnEndpointAndItsKeysWithoutASubscription(platform: String) throws {
        let keys = #""keys":{"p256dh":"\#(Samples.p256dh)","auth":"\#(Samples.auth)"}"#
        let content = try RegistrationContent(
            #"{"platform":"\#(platform)","push_endpoint":"https://push.example.com/abc",\#(keys)}"#
        )
        let whole = try RegistrationContent(Samples.web(platform: platform))
        #expect(content.token == whole.token && content.fields == whole.fields)
        #expect(
            try RegistrationContent(Samples.web(platform: platform, further: ",\(keys)")).fields == whole.fields
        )
    }

    @Test func takesAnEndpointForUnifiedPushWithAndWithoutKeys() throws {
        let plain = try RegistrationContent(
            #"{"platform": "unifiedpush", "push_endpoint": "http://10.0.0.2:8080/up?x=1"}"#
        )
        #expect(plain.token == "http://10.0.0.2:8080/up?x=1")
        #expect(plain.fields.isEmpty)
        let keyed = try RegistrationContent(Samples.web(platform: "unifiedpush"))
        #expect(keyed.fields["auth"] == Samples.auth)
    }

    @Test func unknownFieldsAreKept() throws {
        let json = #"{"platform":"mqtt","token":"t","topic":"a/b","qos":1,"nested":{"x":[1,null]}}"#
        let content = try RegistrationContent(json)
        #expect(content.json == json)
        #expect(content.fields == ["topic": "a/b"])
    }

    @Test func readsTheOptionalFields() throws {
        let key = String(repeating: "ab", count: 32)
        let content = try content(
            #""app":"com.example-1","device":"Anna’s phone","mode":"alert","locale":"pt-BR","shared":true,"#
                + #""relays":["wss://relay.example.com/x","ws://[::1]:7777"],"partners":["\#(key)"]"#
        )
        #expect(content.app == "com.example-1")
        #expect(content.device == "Anna’s phone")
        #expect(content.mode == .alert)
        #expect(content.locale == "pt-BR")
        #expect(content.shared)
        #expect(content.relays == ["wss://relay.example.com/x", "ws://[::1]:7777"])
        #expect(content.partners.map(\.hex) == [key])
    }

    @Test(arguments: Mode.allCases)
    func takesEveryMode(mode: Mode) throws {
        #expect(try content(#""mode":"\#(mode.name)""#).mode == mode)
    }

    @Test(arguments: ["ntfy", "gotify"])
    func takesAnEndpointWhereThereIsNoToken(platform: String) throws {
        let url = "https://push.example.com/message?token=abc"
        let json = #"{"platform":"\#(platform)","push_endpoint":"\#(url)","access_token":"tk_1"}"#
        let content = try RegistrationContent(json)
        #expect(content.token == url)
        #expect(content.fields == ["access_token": "tk_1"])
        let refusal = try #require(throws: RegistrationError.self) {
            _ = try RegistrationContent(#"{"platform":"\#(platform)","token":"t"}"#)
        }
        #expect(refusal.description.hasPrefix("invalid: registration field `push_endpoint`: expected an https:// or"))
    }

    /// The first key is the generator's abscissa (SEC 2); no point on the curve has the second (BIP-340's test vector
    /// 5).
    @Test func sealingKeysMustBeOnTheCurve() throws {
        let key = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
        let content = try content(#""sealing_key":"\#(key)""#)
        #expect(content.sealingKey?.hex == key)
        #expect(content.fields == ["sealing_key": key])
        #expect(try self.content().sealingKey == nil)
        for wrong in [
            #""eefdea4cdb677750a420fee807eacf21eb9898ae79b9768766e4faa04a2d4a34""#, #""\#(key.uppercased())""#,
            #""\#(key.dropLast())""#, "true",
        ] {
            expectRefusal(
                #""sealing_key":\#(wrong)"#,
                "invalid: registration field `sealing_key`: expected an x-only public key (BIP-340) of 64 lower-case "
                    + "hexadecimal digits"
            )
        }
    }

    @Test(arguments: [
        (#""quiet": "night""#, "quiet", "an object"),
        (#""quiet": {"start":"24:00","end":"07:00","tz":"Z"}"#, "quiet.start", "a time from 00:00 to 23:59"),
        (#""quiet": {"start":"7:00","end":"07:00","tz":"Z"}"#, "quiet.start", "a time from 00:00 to 23:59"),
        (#""quiet": {"start":"23:00","tz":"Z"}"#, "quiet.end", "a time from 00:00 to 23:59"),
        (#""quiet": {"start":"07:00","end":"07:00","tz":"Z"}"#, "quiet.end", "another time than `quiet.start`"),
        (
            #""quiet": {"start":"23:00","end":"07:00"}"#, "quiet.tz",
            QuietZone.expected
        ),
        (
            #""quiet": {"start":"23:00","end":"07:00","tz":"../Europe/Berlin"}"#, "quiet.tz",
            QuietZone.expected
        ),
        (
            #""quiet": {"start":"23:00","end":"07:00","tz":"Z","dm_bypass_quiet":1}"#, "quiet.dm_bypass_quiet",
            "true or false"
        ),
        (#""batch": {"window_seconds": -1}"#, "batch.window_seconds", "a whole number from 0 to 86400"),
        (#""batch": {"window_seconds": 1.5}"#, "batch.window_seconds", "a whole number from 0 to 86400"),
        (#""batch": {"cooldown_seconds": 1e3}"#, "batch.cooldown_seconds", "a whole number from 0 to 86400"),
        (
            #""batch": {"cooldown_seconds": 99999999999999999999}"#, "batch.cooldown_seconds",
            "a whole number from 0 to 86400"
        ),
        (#""batch": []"#, "batch", "an object"),
        (#""filters": {"dm": "yes"}"#, "filters.dm", "true or false"),
        (#""filters": ["dm"]"#, "filters", "an object"),
        (#""filters": {"<b>": true}"#, "filters", "signal names of 1 to 32 of a-z 0-9 . _ -"),
        (#""mode": "loud""#, "mode", "wake, nudge, sealed or alert"),
        (#""mode": 3"#, "mode", "a text of 1 to 64 bytes without control characters"),
        (#""app": "a b""#, "app", "1 to 64 of A-Z a-z 0-9 . _ -"),
        (#""device": "a\u0000b""#, "device", "a text of 1 to 128 bytes without control characters"),
        (#""locale": "de.DE""#, "locale", "1 to 64 of A-Z a-z 0-9 _ -"),
        (#""shared": "true""#, "shared", "true or false"),
        (#""relays": ["https://x.example"]"#, "relays", "at most 20 wss:// or ws:// URLs of at most 512 bytes"),
        (#""relays": ["wss://"]"#, "relays", "at most 20 wss:// or ws:// URLs of at most 512 bytes"),
        (#""relays": [7]"#, "relays", "at most 20 wss:// or ws:// URLs of at most 512 bytes"),
        (#""partners": ["ABAB"]"#, "partners", "at most 128 public keys of 64 lower-case hexadecimal digits"),
        (#""topic": "\u0000""#, "topic", "at most 4096 bytes without NUL"),
    ])
    func invalidFieldIsNamed(fields: String, field: String, expected: String) {
        expectRefusal(fields, "invalid: registration field `\(field)`: expected \(expected)")
    }

    @Test(arguments: [
        (#"{"token":"t"}"#, "platform"),
        (#"{"token":"t","platform":""}"#, "platform"),
        (#"{"token":"t","platform":"iOS"}"#, "platform"),
        (#"{"token":"t","platform":5}"#, "platform"),
        (#"{"platform":"ios"}"#, "token"),
        (#"{"platform":"ios","token":""}"#, "token"),
        (#"{"platform":"ios","token":null}"#, "token"),
        (#"{"platform":"ios","token":["t"]}"#, "token"),
        (#"{"platform":"ios","token":"a\u0000b"}"#, "token"),
        (#"{"platform":"unifiedpush"}"#, "push_endpoint"),
        (#"{"platform":"unifiedpush","token":"https://x.example/"}"#, "push_endpoint"),
        (#"{"platform":"unifiedpush","push_endpoint":"file:///etc/passwd"}"#, "push_endpoint"),
        (#"{"platform":"unifiedpush","push_endpoint":"https:///x"}"#, "push_endpoint"),
        (#"{"platform":"unifiedpush","push_endpoint":"https://user@:80/x"}"#, "push_endpoint"),
        (#"{"platform":"unifiedpush","push_endpoint":"https://a b/"}"#, "push_endpoint"),
        (#"{"platform":"web","push_endpoint":"https://x.example/"}"#, "subscription"),
        (#"{"platform":"web","push_endpoint":"https://x.example/","keys":{"auth":"x"}}"#, "keys.p256dh"),
        (#"{"platform":"unifiedpush","push_endpoint":"https://x.example/","keys":"x"}"#, "keys"),
        (
            Samples.web(further: #","keys":{"p256dh":"\#(Samples.p256dh)","auth":"\#(Samples.otherAuth)"}"#), "keys"
        ),
        (#"{"platform":"web","subscription":{"keys":{}}}"#, "subscription.keys.p256dh"),
        (#"{"platform":"web","subscription":{"endpoint":"https://x.example/"}}"#, "subscription.keys"),
        (Samples.web(endpoint: "ftp://x.example/"), "subscription.endpoint"),
        (Samples.web(auth: "c2hvcnQ"), "subscription.keys.auth"),
        (Samples.web(p256dh: "A" + Samples.p256dh.dropFirst()), "subscription.keys.p256dh"),
        (Samples.web(further: #","push_endpoint":"https://other.example/""#), "push_endpoint"),
    ])
    func targetMustFitItsPlatform(json: String, field: String) throws {
        let refusal = try #require(throws: RegistrationError.self) { _ = try RegistrationContent(json) }
        #expect(refusal.description.hasPrefix("invalid: registration field `\(field)`: expected "))
    }

    @Test(arguments: [
        "", "null", "[]", "\"x\"", "{", "{}x", "{\"a\":1,}", "{'a':1}", "\u{FEFF}{}", "{\"platform\":\"ios\u{0}\"}",
        #"{"platform":"ios","token":"t","platform":"android"}"#, #"{"platform":"ios","token":"t","x":{"y":1,"y":1}}"#,
        #"{"platform":"ios","token":"t","\u0074oken":"u"}"#, String(repeating: "[", count: 10_000),
        #"{"a":"# + String(repeating: "[", count: 70) + String(repeating: "]", count: 70) + "}",
        #"{"platform":"ios","token":"\ud80"}"#, #"{"a":01}"#,
        #"{"a":1.}"#, #"{"a":"\x"}"#, #"{"a":tru}"#, #"{"a" 1}"#, "{\"a\":\"\n\"}", #"{"a":"\u00g0"}"#, #"{"a":-}"#,
    ])
    func invalidJSONObjectIsRefused(json: String) throws {
        let refusal = try #require(throws: RegistrationError.self) { _ = try RegistrationContent(json) }
        #expect(refusal.description.hasPrefix("invalid: registration content: expected "))
    }

    @Test func everySizeIsLimited() {
        expectRefusal(
            #""x": "\#(String(repeating: "x", count: 17_000))""#,
            "invalid: registration content: expected at most 16384 bytes"
        )
        #expect(throws: RegistrationError.self) {
            try RegistrationContent(#"{"platform":"ios","token":"\#(String(repeating: "t", count: 4097))"}"#)
        }
        #expect(throws: Never.self) {
            try RegistrationContent(#"{"platform":"ios","token":"\#(String(repeating: "t", count: 4096))"}"#)
        }
        let many = (0..<65).map { #""s\#($0)":true"# }.joined(separator: ",")
        expectRefusal(#""filters": {\#(many)}"#, "invalid: registration field `filters`: expected at most 64 signals")
        let fields = (0..<33).map { #""f\#($0)":"v""# }.joined(separator: ",")
        expectRefusal(fields, "invalid: registration content: expected at most 32 additional fields")
    }

    @Test func errorsNeverQuoteAToken() throws {
        let token = "S3CRET-token"
        for json in [
            #"{"platform":"ios","token":"\#(token)\u0001"}"#,
            #"{"platform":"unifiedpush","push_endpoint":"\#(token)"}"#,
            #"{"platform":"web","subscription":{"endpoint":"https://x.example/","keys":{"p256dh":"\#(token)","auth":"x"}}}"#,
            #"{"platform":"ios","token":"\#(token)","app":"\#(token)!"}"#,
            #"{"platform":"ios","token":"\#(token)" "#,
        ] {
            let refusal = try #require(throws: RegistrationError.self) { _ = try RegistrationContent(json) }
            #expect(!"\(refusal)".contains("S3CRET"))
            #expect(!String(reflecting: refusal).contains("S3CRET"))
        }
    }

    private func content(_ fields: String = "\"x\":0") throws -> RegistrationContent {
        try RegistrationContent(#"{"platform":"ios","token":"t",\#(fields)}"#)
    }

    private func expectRefusal(
        _ fields: String,
        _ text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(sourceLocation: sourceLocation) {
            try content(fields)
        } throws: {
            "\($0)" == text
        }
    }
}
