import Core
import Glibc
import HTTPClient
import Push
import Synchronization
import Testing
import TimeTestSupport

@testable import PluginHost

/// Several deliveries in one call of the plugin.
@Suite(.timeLimit(.minutes(1)))
struct DeliverManyTests {
    private static let sealedForNobody = Notification(mode: .sealed, signal: .dm, title: "Alice")

    private func bench(_ behaviour: String, _ flags: String..., http: any HTTPSender = RecordingHTTP()) throws -> Bench
    {
        try Bench("many.c", flags: flags, configuration: #"{"do":"\#(behaviour)"}"#, http: http)
    }

    /// The reasons of the outcomes, in the order of the notifications.
    private func reasons(
        _ bench: Bench,
        _ notifications: [Notification],
        tokens: [String] = []
    ) async -> [String] {
        let reasons = Mutex<[Int: [String]]>([:])
        let orders = notifications.enumerated().map { index, notification in
            var address = DeviceAddress.somewhere
            if tokens.indices.contains(index) { address.token = tokens[index] }
            let delivery = Delivery(
                id: Bench.id,
                device: DeviceID(rawValue: 1),
                platform: address.platform,
                app: address.app,
                notification: notification,
                acceptedAt: .epoch
            )
            return DeliveryAttempt(delivery, to: address) { outcome in
                reasons.withLock { $0[index, default: []].append(outcome.reason) }
            }
        }
        bench.instance.deliver(orders)
        _ = await eventually { reasons.withLock { $0.count == orders.count } }
        return reasons.withLock { all in orders.indices.map { (all[$0] ?? ["none"]).joined(separator: ",") } }
    }

    @Test(arguments: ["at once", "thread", "request"])
    func eachEndsOnce(_ behaviour: String) async throws {
        let bench = try bench(behaviour)
        #expect(await reasons(bench, [.greeting, .greeting, .greeting]) == [String](repeating: "together-3", count: 3))
        #expect(await reasons(bench, [.greeting, .greeting]) == ["together-2", "together-2"])
        #expect(bench.instance.statistics == TransportStatistics())
        #expect(await bench.host.retire(bench.instance, within: .minutes(1)))
    }

    @Test func pluginGetsBatchesUpToItsLimitAndSingles() async throws {
        let bench = try bench("")
        #expect(await reasons(bench, [.greeting]) == ["alone"])
        let seven = await reasons(bench, [Notification](repeating: .greeting, count: 7))
        #expect(seven == [String](repeating: "together-3", count: 6) + ["alone"])
        #expect(await reasons(bench, []) == [])
    }

    @Test func flagBatchesOnlyDeliveriesToOneToken() async throws {
        let bench = try bench("", "-DFLAGS=4")
        let greetings = [Notification](repeating: .greeting, count: 5)
        let reasons = await reasons(bench, greetings, tokens: ["a", "b", "a", "c", "b"])
        #expect(reasons == ["together-2", "together-2", "together-2", "alone", "together-2"])
    }

    @Test func batchRefusedByThePluginIsSentOneByOne() async throws {
        let bench = try bench("unsupported")
        #expect(await reasons(bench, [.greeting, .greeting]) == ["alone", "alone"])
        #expect(bench.instance.statistics == TransportStatistics())
    }

    @Test func refusalAppliesToTheWholeBatch() async throws {
        let bench = try bench("busy")
        #expect(await reasons(bench, [.greeting, .greeting]) == ["busy", "busy"])
        #expect(await bench.host.retire(bench.instance, within: .minutes(1)))
    }

    @Test func notificationThePluginMustNotSeeIsRefusedAlone() async throws {
        let bench = try bench("")
        let reasons = await reasons(bench, [.greeting, Self.sealedForNobody, .greeting])
        #expect(reasons == ["together-2", "unsupported", "together-2"])
    }

    @Test func transportWithoutBatchesGetsSingleDeliveries() async throws {
        let bench = try Bench(doing: "inline")
        #expect(await reasons(bench, [.greeting, .greeting]) == ["inline", "inline"])
    }

    /// Each is tried separately; the one that crashes the process is abandoned, and the others are sent.
    @Test(arguments: ["", "unsupported"])
    func crashLosesNoDelivery(_ behaviour: String) async throws {
        let bench = try bench(behaviour)
        let deadly = Notification(mode: .alert, signal: .dm, body: "crash")
        let notifications: [Notification] = [.greeting, .greeting, deadly, .greeting, .greeting]
        #expect(await reasons(bench, notifications) == ["alone", "alone", "plugin-crashed", "alone", "alone"])
        #expect(bench.host.processReports.first?.abandoned == 1)
        #expect(await eventually { bench.host.processReports.first?.process != nil })
        let after = behaviour.isEmpty ? "together-2" : "alone"
        #expect(await reasons(bench, [.greeting, .greeting]) == [after, after])
    }

    /// A batch request in progress delays all its deliveries until it has ended.
    @Test func activeBatchRequestIsNotDuplicated() async throws {
        let http = HeldHTTP()
        let bench = try bench("request", http: http)
        let reasons = Task { await self.reasons(bench, [.greeting, .greeting]) }
        #expect(await eventually { http.count == 1 })
        let process = try #require(bench.host.processReports.first?.process)
        kill(process, SIGKILL)
        #expect(await eventually { (bench.host.processReports.first?.process ?? process) != process })
        http.answerAll(.success(HTTPResponse(status: 200)))
        #expect(await reasons.value == ["alone", "alone"])
    }

    @Test(arguments: [
        (["-DLIMIT=1"], "deliver_many_limit of transport fixture is neither 0 nor 2 to 1000"),
        (["-DLIMIT=1001"], "deliver_many_limit of transport fixture is neither 0 nor 2 to 1000"),
        (["-DNO_MANY", "-Wno-unused-function"], "deliver_many"),
    ])
    func anImpossibleLimitIsRefused(_ flags: [String], _ words: String) throws {
        let workshop = try Workshop()
        try workshop.compile("many.c", to: "plugin.so", flags)
        let refusals = workshop.load().catalog.refusals
        #expect(refusals.count == 1 && "\(refusals)".contains(words), "\(refusals)")
    }
}
