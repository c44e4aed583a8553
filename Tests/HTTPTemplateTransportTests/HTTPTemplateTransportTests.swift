import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import HTTPTemplateTransport

struct HTTPTemplateTransportTests {
    private static let url = #""url":"https://push.example.com/send""#

    /// Returns the block of an app with one service.
    private static func block(_ service: String) -> String { #"{"services":{"pager":{\#(service)}}}"# }

    private func request(
        _ service: String,
        _ sample: SampleNotification = .alert(title: "bob", body: "hello"),
        to registration: SampleRegistration = SampleRegistration(token: "alice")
    ) throws -> RecordedRequest {
        let fixture = try TransportFixture(configuration: Self.block(service))
        #expect(try fixture.deliver(sample, to: registration) == .CARILLON_OK)
        return try #require(fixture.host.requests.last, "\(fixture.host.outcomes)")
    }

    private static let hostile = "a\"b\\c\r\nd&e=f/g?h#i<j>%ü🔔"

    @Test func valuesAreEscapedForTheURL() throws {
        let sample = SampleNotification.alert(title: Self.hostile, body: "hello")
        let service = #""url":"https://push.example.com/to/{{token}}?title={{title}}","method":"GET""#
        let request = try request(service, sample, to: SampleRegistration(token: "a/b c"))
        #expect(
            request.url == "https://push.example.com/to/a%2Fb%20c?title="
                + "a%22b%5Cc%0D%0Ad%26e%3Df%2Fg%3Fh%23i%3Cj%3E%25%C3%BC%F0%9F%94%94"
        )
        #expect(request.method == "GET" && request.body.isEmpty && request.flags == 0)
    }

    @Test func valuesAreEscapedForJSON() throws {
        let sample = SampleNotification.alert(title: Self.hostile, body: "hello")
        let body = try request(#"\#(Self.url),"json":{"a":["x {{title}}"]}"#, sample).bodyText
        #expect(body == #"{"a":["x a\"b\\c\r\nd&e=f/g?h#i<j>%ü🔔"]}"#)
    }

    @Test func valuesAreEscapedForForms() throws {
        let sample = SampleNotification.alert(title: "a&b=c +ü", body: "hello")
        let request = try request(#"\#(Self.url),"form":{"t i":"{{title}}","n":1}"#, sample)
        #expect(request.bodyText == "t%20i=a%26b%3Dc%20%2B%C3%BC&n=1")
        #expect(request.headers == ["content-type": "application/x-www-form-urlencoded"])
    }

    @Test func valuesAreEscapedForHeaders() throws {
        let sample = SampleNotification.alert(title: "a\r\nx-evil: b_ü", body: "plain")
        let service = #"\#(Self.url),"headers":{"X-Title":"<{{title}}>","X-Body":"{{body}}"},"text":"{{body}}""#
        let request = try request(service, sample)
        #expect(request.headers["x-title"] == "<=?UTF-8?Q?a=20x-evil=3A=20b=5F=C3=BC?=>")
        #expect(request.headers["x-body"] == "plain" && request.bodyText == "plain")
        #expect(request.headers["content-type"] == "text/plain; charset=utf-8")
    }

    @Test func markupIsEscapedOnRequest() throws {
        let sample = SampleNotification.alert(title: "bob", body: "<!channel> & co")
        let body = try request(#"\#(Self.url),"text":"{{body|html}}""#, sample).bodyText
        #expect(body == "&lt;!channel&gt; &amp; co")
    }

    @Test func emptyFieldIsOmitted() throws {
        let service = #"""
            \#(Self.url),"headers":{"x-title":"{{subtitle}}"},
            "json":{"sub":"{{subtitle}}","deep":{"list":["{{subtitle}}"]},"kept":"","none":{},"body":"{{body}}"}
            """#
        let request = try request(service)
        #expect(request.headerNames == ["content-type"])
        #expect(request.bodyText == #"{"kept":"","none":{},"body":"hello"}"#)
        #expect(try self.request(#"\#(Self.url),"form":{"s":"{{subtitle}}","b":"{{body}}"}"#).bodyText == "b=hello")
    }

    @Test func sectionsAreOmittedWithoutTheirText() throws {
        let service =
            #"\#(Self.url),"text":"{{#title}}*{{ title }}* {{#url}}{{url}}{{/url}}{{/title}}{{^url}}no link{{/url}}""#
        #expect(try request(service).bodyText == "*bob* no link")
        #expect(try request(service, .alert(title: "alone", body: "")).bodyText == "no link")
    }

    @Test func singlePlaceholderKeepsItsType() throws {
        var sample = SampleNotification.alert(title: "bob", body: "hello", native: #"{"sound":{"name":"x"}}"#)
        sample.data = #"{"kind":7,"author":"bob"}"#
        sample.urgency = .CARILLON_HIGH
        let service = #"""
            \#(Self.url),"urgency":{"high":2},
            "json":{"n":"{{count}}","p":"{{urgency}}","k":"{{data.kind}}","a":"by {{data.author}}","s":"{{rule.sound}}"}
            """#
        #expect(try request(service, sample).bodyText == #"{"n":1,"p":2,"k":7,"a":"by bob","s":{"name":"x"}}"#)
        sample.urgency = .CARILLON_LOW
        #expect(try request(service, sample).bodyText.contains(#""p":"low""#))
    }

    @Test func modesShowOnlyTheirFields() throws {
        let service = #"\#(Self.url),"json":{"m":"{{mode}}","s":"{{signal}}","t":"{{title}}","b":"{{body}}"}"#
        #expect(try request(service, .wake("dm")).bodyText == #"{"m":"wake","s":"dm","b":"New notification"}"#)
        #expect(try request(service, .wake("dm", count: 3)).bodyText.contains("3 new notifications"))
        let nudge = SampleNotification.nudge("dm", title: "New message", body: "Open the app")
        #expect(try request(service, nudge).bodyText == #"{"m":"nudge","s":"dm","t":"New message","b":"Open the app"}"#)
        // A title without a body becomes the body.
        #expect(try request(service, .alert(title: "alone", body: "")).bodyText.hasSuffix(#","b":"alone"}"#))
        let fixture = try TransportFixture(configuration: Self.block(service))
        #expect(try fixture.deliver(.envelope("{}", title: "New message")) == .CARILLON_UNSUPPORTED)
        #expect(try fixture.deliver(.alert(title: "", body: "")) == .CARILLON_OK)
        #expect(fixture.host.outcomes.map(\.reason) == ["payload-empty"])
    }

    @Test func longTextsAreCutBetweenCharacters() throws {
        let service = #"\#(Self.url),"limits":{"body":5},"text":"{{body}}""#
        #expect(try request(service, .alert(title: "", body: "🔔🔔🔔")).bodyText == "🔔🔔…")
        #expect(try request(service, .alert(title: "", body: "12345")).bodyText == "12345")
        let long = String(repeating: "a", count: 9000)
        #expect(try request(#"\#(Self.url),"text":"{{body}}""#, .alert(title: "", body: long)).body.count == 3999 + 3)
        let inURL = #""limits":{"body":9000},"url":"https://a.example/{{body}}""#
        let fixture = try TransportFixture(configuration: Self.block(inURL))
        #expect(try fixture.deliver(.alert(title: "", body: long)) == .CARILLON_OK)
        #expect(fixture.host.outcomes.map(\.reason) == ["payload-too-large"])
    }

    @Test func aURLOfTheUsersOwnIsNotTrusted() throws {
        let service = #"""
            "url":"{{fields.server}}/x/{{token}}","fields":{"server":{"required":true,"starts_with":"https://"}}
            """#
        let fixture = try TransportFixture(configuration: Self.block(service))
        let registration = { SampleRegistration(token: "alice", fields: [(name: "server", value: $0)]) }
        #expect(try fixture.deliver(.wake("dm"), to: registration("https://own.example/base/")) == .CARILLON_OK)
        let request = try #require(fixture.host.requests.last)
        #expect(request.url == "https://own.example/base/x/alice" && request.flags == 2)
        for server in ["", "http://own.example", "https://own.example/?a=b", "https://user@own.example"] {
            #expect(fixture.refusal(of: registration(server))?.hasPrefix("server: expected ") == true, "\(server)")
        }
    }

    @Test func valuesCannotChangeThePath() throws {
        let fixture = try TransportFixture(
            configuration: Self.block(#""url":"https://a.example/x/{{token}}/{{body}}""#)
        )
        #expect(fixture.refusal(of: SampleRegistration(token: "..")) != nil)
        #expect(try fixture.deliver(.alert(title: "", body: "..")) == .CARILLON_OK)
        #expect(fixture.host.requests.isEmpty && fixture.host.outcomes.map(\.reason) == ["bad-url"])
    }

    @Test func registrationsNameTheirService() throws {
        let block = #"{"services":{"a":{"url":"https://a.example/"},"b":{"url":"https://b.example/"}}}"#
        let fixture = try TransportFixture(configuration: block)
        let registration = { SampleRegistration(token: "alice", fields: [(name: "service", value: $0)]) }
        #expect(try fixture.deliver(.wake("dm"), to: registration("b")) == .CARILLON_OK)
        #expect(fixture.host.requests.map(\.url) == ["https://b.example/"])
        #expect(fixture.refusal(of: registration("c")) == "service: expected a or b")
        #expect(fixture.refusal(of: SampleRegistration(token: "alice")) == "service: expected a or b")
        #expect(try fixture.deliver(.wake("dm"), to: registration("c")) == .CARILLON_INVALID)
    }

    @Test func tokensAndFieldsAreChecked() throws {
        let service = #"""
            \#(Self.url),"token":{"min_length":3,"max_length":5,"expected":"your key"},
            "fields":{"tag":{"required":true},"other":{}}
            """#
        let fixture = try TransportFixture(configuration: Self.block(service))
        let mistake = fixture.refusal(of: SampleRegistration(token: "ab", fields: [(name: "tag", value: "x")]))
        #expect(mistake == "token: expected your key, 3 to 5 bytes")
        #expect(fixture.refusal(of: SampleRegistration(token: "abc"))?.hasPrefix("tag: expected") == true)
        #expect(fixture.refusal(of: SampleRegistration(token: "abc", fields: [(name: "tag", value: "x")])) == nil)
    }

    /// Each error names the key and the expected value.
    @Test(arguments: [
        (#"{}"#, "services: expected 1 to"),
        (#"{"services":{}}"#, "services: expected 1 to"),
        (#"{"services":{"pager":1}}"#, "services.pager: expected a mapping"),
        (block(""), "services.pager.url: expected an address"),
        (block(#""url":"https://a.example","verb":"POST""#), "services.pager.verb: unknown key"),
        (block(#""url":"https://a.example","method":"HEAD""#), "services.pager.method: expected POST or PUT or GET"),
        (block(#""url":"https://{{token}}/x""#), "services.pager.url: expected https://, a host and a path"),
        (block(#""url":"https://a.example{{token}}""#), "services.pager.url: expected https://, a host and a path"),
        (block(#""url":"{{title}}/x""#), "services.pager.url: expected https:// or a placeholder"),
        (block(#""url":"{{token}}x""#), "services.pager.url: expected / after"),
        (block(#""url":"https://a.example/ü/{{token}}""#), "services.pager.url: expected https://"),
        (
            block(#""url":"{{secrets.url}}/x","secrets":{"url":"example"}"#),
            "services.pager.secrets.url: expected a URL"
        ),
        (block(#"\#(url),"text":"{{titel}}""#), "services.pager.text: {{titel}} is unknown: expected one of id,"),
        (block(#"\#(url),"json":{"a":{"b":["{{fields.x}}"]}}"#), "services.pager.json.a.b: {{fields.x}} is unknown"),
        (block(#"\#(url),"form":{"a":"{{secrets.x}}"}"#), "services.pager.form.a: {{secrets.x}} is unknown"),
        (block(#"\#(url),"form":{"a":[]}"#), "services.pager.form.a: expected a text"),
        (block(#"\#(url),"text":"{{title""#), "services.pager.text: expected }}"),
        (block(#"\#(url),"text":"{{#title}}x""#), "services.pager.text: expected {{/title}} behind"),
        (block(#"\#(url),"text":"x{{/title}}""#), "services.pager.text: expected {{/"),
        (block(#"\#(url),"text":"x","json":{}"#), "services.pager.json: expected one of"),
        (block(#"\#(url),"text":"x","method":"GET""#), "services.pager.method: expected GET without"),
        (block(#"\#(url),"headers":{"Host":"x"}"#), "services.pager.headers.host: expected each name once"),
        (block(#"\#(url),"headers":{"a b":"x"}"#), "services.pager: headers.a b: expected each name once"),
        (block(#"\#(url),"headers":{"a":"ü"}"#), "services.pager.headers.a: expected printable ASCII"),
        (block(#"\#(url),"headers":{"a":"x","A":"y"}"#), "services.pager.headers.a: expected each name once"),
        (block(#"\#(url),"fields":{"device":{}}"#), "services.pager.fields.device: expected another name"),
        (block(#"\#(url),"token":{"min_length":9,"max_length":3}"#), "services.pager.token.min_length: expected"),
        (block(#"\#(url),"limits":{"titel":3}"#), "services.pager.limits.titel: unknown key"),
        (block(#"\#(url),"urgency":{"max":3}"#), "services.pager.urgency.max: unknown key"),
        (block(#"\#(url),"answers":{}"#), "services.pager.answers: expected a list"),
        (block(#"\#(url),"answers":[{"status":404}]"#), "services.pager.answers.0.outcome: expected delivered or gone"),
        (block(#"\#(url),"answers":[{"outcome":"lost"}]"#), "services.pager.answers.0.outcome: expected delivered"),
        (block(#"\#(url),"answers":[{"status":99,"outcome":"gone"}]"#), "services.pager.answers.0.status: expected"),
        (block(#"\#(url),"answers":[{"when":{"a":1},"outcome":"gone"}]"#), "services.pager.answers.0.when: expected"),
        (block(#"\#(url),"answers":[{"reason":"No!","outcome":"gone"}]"#), "services.pager.answers.0.reason: expected"),
        (
            block(#"\#(url),"answers":[{"wait":3,"outcome":"gone"}]"#),
            "services.pager.answers.0.wait: only allowed with"
        ),
        (
            block(#"\#(url),"answers":[{"wait":-3,"outcome":"retry"}]"#),
            "services.pager.answers.0.wait: expected a length"
        ),
        (block(#"\#(url),"answers":[{"holds":"all","outcome":"retry"}]"#), "services.pager.answers.0.holds: expected"),
    ])
    func errorsAreNamed(configuration: String, said: String) throws {
        let mistake = #expect(throws: PluginError.self) { try TransportFixture(configuration: configuration) }
        #expect(mistake?.description.hasPrefix(said) == true, "\(mistake?.description ?? "")")
    }

    @Test func errorsContainNoSecrets() throws {
        let service = #"\#(Self.url),"secrets":{"key":"s3cret"},"headers":{"host":"{{secrets.key}}"}"#
        let mistake = #expect(throws: PluginError.self) { try TransportFixture(configuration: Self.block(service)) }
        #expect(mistake?.description.contains("s3cret") == false)
    }

    private static func withSecrets(_ lines: String, more: String = "") -> String {
        #"""
        {"services":{"pager":{"url":"https://push.example.com/send","headers":{"key":"{{secrets.key}}"},"text":"x"\#(more)}},
         "secrets_file":"s","$files":{"s":"\#(lines)"}}
        """#
    }

    @Test func secretsMayComeFromAFile() throws {
        let fixture = try TransportFixture(configuration: Self.withSecrets(#"# ours\n\npager.key=a=b\n"#))
        #expect(try fixture.deliver(.alert(title: "a", body: "b")) == .CARILLON_OK)
        #expect(fixture.host.requests[0].headers["key"] == "a=b")
    }

    @Test(arguments: [
        (withSecrets("s3cret"), "secrets_file: expected SERVICE.NAME=SECRET in line 1 of s"),
        (withSecrets("pager.key="), "secrets_file: expected SERVICE.NAME=SECRET in line 1 of s"),
        (withSecrets("pagr.key=s3cret"), "secrets_file: expected secrets of pager, found pagr"),
        (withSecrets("pager.kee=s3cret"), "services.pager.headers.key: "),
        (
            withSecrets("pager.key=s3cret", more: #","secrets":{"key":"other"}"#),
            "services.pager.secrets.key: expected it here or in secrets_file, found both"
        ),
    ])
    func errorsInTheSecretFileAreNamed(configuration: String, said: String) throws {
        let mistake = #expect(throws: PluginError.self) { try TransportFixture(configuration: configuration) }
        #expect(mistake?.description.hasPrefix(said) == true, "\(mistake?.description ?? "")")
        #expect(mistake?.description.contains("s3cret") == false)
    }
}
