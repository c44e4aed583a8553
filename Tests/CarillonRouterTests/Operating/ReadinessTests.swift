import Console
import Core
import Delivery
import Storage
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import Operations

@Suite struct ReadinessTests {
    private static let ios = QueueName(platform: "ios", app: "default")

    private static var fine: Readiness {
        var readiness = Readiness()
        readiness.outboxLimit = 10
        readiness.relays = 2
        readiness.connectedRelays = 1
        return readiness
    }

    private static let now = Timestamp(seconds: 0)

    private static func status(_ cause: QueuePause.Cause?, _ reason: String = "bad-token") -> QueueStatus {
        QueueStatus(
            queue: ios,
            inMemory: 1,
            pause: cause.map { QueuePause(queue: ios, until: 1, reason: reason, cause: $0) }
        )
    }

    @Test func routerWithoutProblemsIsReady() {
        var readiness = Self.fine
        // A pause that the push service requested ends automatically.
        readiness.queues = [Self.status(nil), Self.status(.asked)]
        #expect(readiness.issues.isEmpty)
        let answer = readiness.answer(details: true)
        #expect(answer.status == 200 && answer.body == "{\"ready\":true,\"not_ready\":[]}\n")
    }

    private static func amiss(_ what: String) -> Readiness {
        var readiness = fine
        switch what {
        case "not-serving": readiness.isServing = false
        case "stuck": readiness.stuck = ["pipeline"]
        case "outbox-full": readiness.outboxRows = 10
        case "outbox-unwritable": readiness.isOutboxUnwritable = true
        case "disk-full": readiness.freeBytes = 1 << 20
        case "transport-failed": readiness.failures = [(ios, "team_id: expected …", hasPlugin: true)]
        case "transport-paused": readiness.queues = [status(.misconfigured)]
        case "filter-failed":
            readiness.facts.filterFailures = [Filters.Unavailable(name: "noise", line: 3, reason: "no")]
        case "reload-refused":
            readiness.facts.refusedReload = ([Diagnostic(file: "a.yaml", line: 2, column: 1, message: "no")], now)
        case "foreign-messages":
            readiness.facts.issues = [RouterStatus.Issue(what, [:], message: "3 messages", fix: "none")]
        case "no-source": (readiness.relays, readiness.hasSource) = (0, false)
        default: readiness.connectedRelays = 0
        }
        return readiness
    }

    @Test(arguments: ["not-serving", "stuck", "outbox-full", "outbox-unwritable", "disk-full", "no-relay"])
    func routerWithoutEssentialPartsIsNotReady(_ what: String) {
        let readiness = Self.amiss(what)
        #expect(readiness.issues.map(\.code) == [what])
        #expect(readiness.issues.map(\.severity) == [.error])
        #expect(readiness.answer(details: false).status == 503)
    }

    /// Rejected credentials of one app must not take the router out of service for all others.
    @Test(arguments: ["transport-failed", "transport-paused"])
    func routerIsReadyIfOneAppCannotBeServed(_ what: String) {
        let readiness = Self.amiss(what)
        #expect(readiness.issues.map(\.code) == [what])
        #expect(readiness.issues.map(\.severity) == [.error])
        #expect(readiness.answer(details: true).body == "{\"ready\":true,\"not_ready\":[]}\n")
    }

    @Test(arguments: ["filter-failed", "reload-refused", "foreign-messages", "no-source"])
    func routerWithWarningsIsReady(_ what: String) {
        let readiness = Self.amiss(what)
        #expect(readiness.issues.map(\.code) == [what])
        #expect(readiness.issues.map(\.severity) == [.warning])
        #expect(readiness.answer(details: true).status == 200)
    }

    @Test func eventSourceIsARelayAFeedOrAClient() {
        var readiness = Self.amiss("no-source")
        readiness.facts.hasSource = true
        #expect(readiness.issues.isEmpty)
        readiness = Self.amiss("no-source")
        readiness.hasSource = true
        #expect(readiness.issues.isEmpty)
    }

    @Test func fixMatchesTheCause() {
        var readiness = Self.fine
        readiness.failures = [(Self.ios, "no loaded plugin serves ios", hasPlugin: false)]
        // Deliveries wait for it, which is the same problem.
        readiness.queues = [Self.status(.misconfigured, "no-transport")]
        let missing = readiness.issues
        #expect(missing.map(\.params?.code) == ["transport-failed-no-plugin"])
        #expect(missing.allSatisfy { $0.fix.contains("plugin") && !$0.fix.contains("credentials") })
        readiness.failures = []
        #expect(readiness.issues.map(\.params?.code) == ["transport-paused-no-plugin"])
        #expect(readiness.issues.allSatisfy { !$0.fix.contains("credentials") })
        readiness.queues = [Self.status(.misconfigured)]
        #expect(readiness.issues.allSatisfy { $0.fix.contains("credentials") })
    }

    @Test func refusedReloadNamesItsNumberOfErrors() {
        var readiness = Self.amiss("reload-refused")
        let mistake = Diagnostic(file: "a.yaml", line: 2, column: 1, message: "no")
        readiness.facts.refusedReload = ([mistake, mistake, mistake], Self.now)
        #expect(
            readiness.issues.map(\.message) == [
                "reload-refused: the reload at 1970-01-01 00:00:00 UTC failed, so the previous configuration is active: "
                    + "a.yaml:2:1: no, and 2 more"
            ]
        )
    }

    @Test func namesAndReasonsRequireAuthorization() {
        var readiness = Self.fine
        readiness.stuck = ["pipe \"line\""]
        #expect(readiness.answer(details: false).body == "{\"ready\":false,\"not_ready\":[{\"code\":\"stuck\"}]}\n")
        #expect(
            readiness.answer(details: true).body
                == #"{"ready":false,"not_ready":[{"code":"stuck","message":"pipe \"line\""}]}"# + "\n"
        )
    }

    @Test(arguments: [(86_400, 1), (86_399, 0), (0, 0), (-1, -1), (-86_400, -1), (-86_401, -2)])
    func daysOfACredentialAreNegativeAsSoonAsItHasExpired(_ seconds: Int64, _ days: Int64) {
        let now = Timestamp(milliseconds: 1_800_000_000_000)
        #expect(RouterStatus.Credential.days(until: now + .seconds(seconds), from: now) == days)
    }
}
