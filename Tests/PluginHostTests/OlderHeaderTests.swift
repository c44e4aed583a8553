import Foundation
import HTTPLanes
import Notifications
import Platforms
import PluginHost
import Testing
import TimeTestSupport
import Units

/// Plugins that were compiled against the header of an earlier minor version, each of which is kept as it was last
/// published.
@Suite(.bothPlaces, .timeLimit(.minutes(2)))
struct OlderHeaderTests {
    private let workshop: Workshop
    private let log = LogBook()

    init() throws { workshop = try Workshop() }

    private func load(_ minor: Int) throws -> PluginHost {
        let header = Workshop.fixtures.appending(path: "Headers/1.\(minor)").path
        try workshop.compile("older.c", to: "plugin.so", include: header)
        let host = workshop.load(log: log)
        if let refusal = host.catalog.refusals.first { throw refusal }
        return host
    }

    private func settings(_ http: RecordingHTTP = RecordingHTTP()) -> InstanceSettings {
        InstanceSettings(sender: http, log: log.logger)
    }

    @Test(arguments: 0...5) func transportsWork(minor: Int) async throws {
        let host = try load(minor)
        #expect(host.catalog.plugins.first?.abiMinor == UInt32(minor))
        let refusal = #expect(throws: PluginError.self) {
            try host.makeTransport(platform: "fixture", app: "a", configuration: "{}", settings: settings())
        }
        #expect(refusal?.description.contains("key: expected one") == true)

        let http = RecordingHTTP()
        let instance = try host.makeTransport(
            platform: "fixture",
            app: "a",
            configuration: #"{"key":1}"#,
            settings: settings(http)
        )
        try instance.validate(.somewhere)
        var odd = DeviceAddress.somewhere
        odd.fields = ["a": "1"]
        #expect(throws: PluginError.self) { try instance.validate(odd) }

        let outcome = await withCheckedContinuation { continuation in
            instance.deliver(.greeting, id: Bench.id, to: .somewhere) { continuation.resume(returning: $0) }
        }
        #expect(outcome.kind == .delivered && outcome.reason == "answered")
        #expect(http.requests.map(\.url) == [DeviceAddress.somewhere.token])
        #expect(http.requests.map(\.body) == [Array("Alice".utf8)])

        try await commandAndCheck(instance, host, minor)
        let outcomes = Outcomes()
        let wait = Notification(mode: .alert, signal: .dm, title: "wait", body: "")
        instance.deliver(wait, id: Bench.id, to: .somewhere) { outcomes.append($0) }
        #expect(await instance.drain(within: .seconds(20)))
        #expect(outcomes.reasons == ["cancelled"])
        #expect(log.said == ["minor \(minor), host's is newer: 1", "destroyed"])
    }

    /// What the header has from 1.2 and 1.4 on.
    private func commandAndCheck(_ instance: TransportInstance, _ host: PluginHost, _ minor: Int) async throws {
        if minor >= 2 {
            #expect(try await instance.command(["hello"]) == "hello too")
        } else {
            await #expect(throws: PluginError.self) { try await instance.command(["hello"]) }
        }
        let check = host.blockChecks["fixture"]
        #expect((check != nil) == (minor >= 4))
        #expect(host.platformCatalog["fixture"]?.name == (minor >= 4 ? "Older" : nil))
        if let check { #expect(check(#"{"bad":1}"#) == "/bad: expected nothing" && check("{}") == nil) }
    }

    @Test(arguments: 0...5) func filtersWork(minor: Int) async throws {
        let host = try load(minor)
        let filter = try host.makeFilter("fixture", configuration: #"{"key":1}"#, settings: settings())
        #expect(filter.need == (minor >= 3 ? .followed : .nothing))
        for (signal, verdict) in [(Signal.mention, FilterVerdict.drop(reason: "because")), (.dm, .pass)] {
            let question = FilterQuestion(
                event: Array("{}".utf8),
                recipient: "r",
                recipientEvents: [],
                signal: signal,
                now: 1_770_000_000_000,
                notification: nil
            )
            #expect(filter.decide(question) == verdict)
        }
        #expect(await filter.drain(within: .seconds(20)))
        #expect(log.said.last == "destroyed")
    }
}
