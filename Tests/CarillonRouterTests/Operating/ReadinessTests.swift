import Console
import Delivery
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

    private static func status(_ cause: QueuePause.Cause?) -> QueueStatus {
        QueueStatus(
            queue: ios,
            inFlight: 0,
            inMemory: 1,
            waitingForRetry: 0,
            pausedUntil: cause == nil ? nil : 1,
            pauseCause: cause,
            pauseReason: "bad-token"
        )
    }

    @Test func isReadyWhenNothingIsAmiss() {
        var readiness = Self.fine
        // The push service's own wish ends by itself.
        readiness.queues = [Self.status(nil), Self.status(.asked)]
        #expect(readiness.shortcomings.isEmpty)
        let answer = readiness.answer(details: true)
        #expect(answer.status == 200 && answer.body == "{\"ready\":true,\"not_ready\":[]}\n")
    }

    @Test(arguments: [
        "not-serving", "stuck", "outbox-full", "outbox-unwritable", "transport-failed", "transport-paused", "no-relay",
    ])
    func namesWhatIsAmiss(_ what: String) {
        var readiness = Self.fine
        switch what {
        case "not-serving": readiness.isServing = false
        case "stuck": readiness.stuck = ["pipeline"]
        case "outbox-full": readiness.outboxRows = 10
        case "outbox-unwritable": readiness.isOutboxUnwritable = true
        case "transport-failed": readiness.failures = [(Self.ios, "team_id: expected …")]
        case "transport-paused": readiness.queues = [Self.status(.misconfigured)]
        default: readiness.connectedRelays = 0
        }
        #expect(readiness.shortcomings.map(\.what) == [what])
        #expect(readiness.answer(details: false).status == 503)
    }

    @Test func tellsNamesAndReasonsToThoseWhoMayKnow() {
        var readiness = Self.fine
        readiness.failures = [(Self.ios, "team_id: expected \"…\"")]
        #expect(
            readiness.answer(details: false).body
                == "{\"ready\":false,\"not_ready\":[{\"what\":\"transport-failed\"}]}\n"
        )
        #expect(
            readiness.answer(details: true).body
                == #"{"ready":false,"not_ready":[{"what":"transport-failed","detail":"ios of default: team_id: expected \"…\""}]}"#
                + "\n"
        )
    }
}
