import ChaosKit
import Delivery
import Push
import Testing
import TimeTestSupport

struct PlanTests {
    @Test func theSameSeedMeansTheSameRun() {
        let plan = ChaosPlan(seed: 42, deliveries: 100)
        let one = Population(plan, now: 0)
        let other = Population(plan, now: 0)
        #expect(one.deliveries == other.deliveries)
        #expect(one.devices.map(\.target) == other.devices.map(\.target))
        #expect(one.devices.map(\.requestsBeforeDeath) == other.devices.map(\.requestsBeforeDeath))
        #expect(
            PhaseScript(seed: 42, transport: .fcm, requests: 100)
                == PhaseScript(seed: 42, transport: .fcm, requests: 100)
        )
    }

    @Test func anotherSeedMeansAnotherRun() {
        let one = Population(ChaosPlan(seed: 42, deliveries: 100), now: 0)
        let other = Population(ChaosPlan(seed: 43, deliveries: 100), now: 0)
        #expect(one.deliveries.map(\.notification.body) != other.deliveries.map(\.notification.body))
        #expect(
            PhaseScript(seed: 42, transport: .apns, requests: 100)
                != PhaseScript(seed: 43, transport: .apns, requests: 100)
        )
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func everyPhaseComesBeforeTheRequestsAreOver(_ seed: UInt64) {
        let script = PhaseScript(seed: seed, transport: .apns, requests: 1_200)
        #expect(Set(script.scenes.map(\.phase.name)).count == 12)
        #expect(script.scenes.map(\.length).reduce(0, +) <= 1_200)
    }

    @Test func everyDeliveryHasADeviceOfItsTransport() throws {
        let population = Population(ChaosPlan(seed: 5, deliveries: 103), now: 0)
        #expect(population.deliveries.count == 103)
        for delivery in population.deliveries {
            let device = try #require(population.device(delivery.device))
            #expect(device.transport.platform == delivery.platform)
        }
        #expect(Set(population.deliveries.map(\.id)).count == 103)
    }

    @Test func devicesSurviveACalmDay() {
        let population = Population(ChaosPlan(seed: 5, deliveries: 400, weather: .calm), now: 0)
        #expect(population.devices.allSatisfy { $0.requestsBeforeDeath == nil })
    }
}
