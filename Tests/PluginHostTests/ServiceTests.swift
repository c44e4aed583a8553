import Core
import HTTPClient
import Logging
import Push
import Testing
import TimeTestSupport

@testable import PluginHost

@Suite(.timeLimit(.minutes(1)))
struct ServiceTests {
    @Test func requestIsCopiedWhole() async throws {
        let http = RecordingHTTP { _ in
            .success(HTTPResponse(status: 201, headers: [HTTPField("retry-after", "1")], body: [1, 2, 3]))
        }
        let bench = try Bench(doing: "request", http: http)
        #expect(await bench.outcome().reason == "answered")
        let request = try #require(http.requests.first)
        #expect(request.method == "POST")
        #expect(request.url == "https://push.example.com/abc")
        #expect(request.headers == [HTTPField("x-one", "1"), HTTPField("x-two", "ä")])
        #expect(request.body == Array("Hello".utf8))
        #expect(request.timeout == .milliseconds(1234))
        #expect(request.maxResponseBytes == ByteCount(99))
        #expect(request.multiplexed)
        #expect(!request.untrustedURL)
        #expect(bench.log.said == ["status 201, 1 headers, 3 bytes, failure "])
        #expect(request.transcript == "POST https://push.example.com/abc\nx-one: 1\nx-two: ä\n\nHello")
    }

    @Test func missingAnswerHasAReason() async throws {
        let http = RecordingHTTP { _ in .failure(HTTPError(.timeout, mayHaveBeenProcessed: true)) }
        let bench = try Bench(doing: "request", http: http)
        #expect(await bench.outcome().reason == "answered")
        #expect(bench.log.said == ["status 0, 0 headers, 0 bytes, failure timeout"])
    }

    @Test func malformedRequestsAreRefused() throws {
        let http = RecordingHTTP()
        let bench = try Bench(doing: "malformed-requests", http: http)
        #expect(bench.deliver().reasons == ["all-refused"])
        #expect(http.requests.isEmpty)
        #expect(bench.instance.statistics.malformedRequests == 36)
    }

    @Test func logIsBoundedAndHarmless() throws {
        let bench = try Bench(doing: "hostile-log")
        #expect(bench.deliver().reasons == ["logged"])
        let lines = bench.log.lines.filter { $0.message == "The plugin logged a message" }
        #expect(lines.count == 3)
        #expect(
            bench.log.said.first == "red \u{FFFD}[31m, two\u{FFFD}lines, broken \u{FFFD}\u{FFFD} utf-8, \u{FFFD}turned"
        )
        #expect(bench.log.said.last == String(repeating: "m", count: 1024) + "…")
        #expect(lines.map(\.level) == [.info, .error, .warning])
        let metadata = try #require(lines.first?.metadata)
        #expect(metadata["plugin"] == "org.example.behaviour")
        #expect(metadata["platform"] == "fixture")
        #expect(metadata["app"] == "default")
    }

    @Test func refusedConfigurationNamesItsReason() throws {
        let error = try #require(throws: PluginError.self) { try Bench("behaviour.c", configuration: "[]") }
        #expect(
            error.description
                == "the fixture transport refuses its configuration: expected\u{FFFD}\u{FFFD}[31m {\"do\": ...}"
        )
    }

    @Test(arguments: [
        ("refuse-silently", "no error message (status 4)"), ("refuse-at-length", "xxxx"),
        ("refuse-without-end", "xxxx"),
    ])
    func errorTextIsBounded(behaviour: String, expected: String) throws {
        let error = try #require(throws: PluginError.self) { try Bench(doing: behaviour) }
        #expect(error.description.contains(expected))
        #expect(error.description.count < 600)
    }

    @Test func unknownPlatformNamesTheKnownOnes() throws {
        let bench = try Bench(doing: "inline")
        let error = try #require(throws: PluginError.self) {
            try bench.host.makeTransport(
                platform: "pager",
                app: "a",
                configuration: "{}",
                settings: InstanceSettings(sender: bench.http, log: bench.log.logger)
            )
        }
        #expect(error.isUnknownPlatform)
        #expect(error.description == "no loaded plugin serves pager; available: fixture")
    }

    @Test func registrationIsValidatedByThePlugin() throws {
        let bench = try Bench(doing: "inline")
        var address = DeviceAddress(
            platform: "fixture",
            app: "a",
            token: "token",
            fields: ["a": "1", "b": "2"],
            registeredAt: 1
        )
        try bench.instance.validate(address)
        address.fields["c"] = "3"
        let error = try #require(throws: PluginError.self) { try bench.instance.validate(address) }
        #expect(error.description == "the fixture transport refuses the registration: 3 fields")
    }

    @Test func pluginThatDoesNotValidateAcceptsEverything() throws {
        let bench = try Bench("descriptor.c")
        try bench.instance.validate(.somewhere)
    }
}
