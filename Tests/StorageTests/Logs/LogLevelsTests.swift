import Core
import Logging
import Testing
import TimeTestSupport

@testable import Storage

struct LogLevelsTests {
    private let clock = ManualClock(Timestamp(seconds: 1_000))

    private func levels() -> LogLevels { LogLevels(usual: .info, now: clock.monotonic) }

    @Test func componentHasItsOwnLevel() {
        let levels = levels()
        levels.set(LogLevels.Setting(component: "Relays", level: .debug))
        levels.set(LogLevels.Setting(component: "Delivery", level: .error))
        #expect(levels.lowest == .debug)
        #expect(levels.isLogged(.debug, by: "Relays") && !levels.isLogged(.debug, by: "Pipeline"))
        #expect(levels.isLogged(.info, by: "Pipeline") && !levels.isLogged(.warning, by: "Delivery"))
        levels.reset("Relays")
        #expect(levels.lowest == .info && levels.settings.map(\.component) == ["Delivery"])
        levels.reset()
        #expect(levels.isLogged(.info, by: "Delivery") && levels.settings.isEmpty)
    }

    @Test func allComponentsCanBeSetTogether() {
        let levels = levels()
        levels.set(LogLevels.Setting(component: nil, level: .trace))
        levels.set(LogLevels.Setting(component: "Pipeline", level: .warning))
        #expect(levels.isLogged(.trace, by: "Relays") && !levels.isLogged(.info, by: "Pipeline"))
        levels.set(LogLevels.Setting(component: nil, level: .critical))
        #expect(levels.lowest == .warning && !levels.isLogged(.error, by: "Relays"))
    }

    @Test func aSettingEndsAtItsTime() {
        let levels = levels()
        levels.set(LogLevels.Setting(component: "Relays", level: .debug, until: clock.monotonic() + .minutes(10)))
        clock.advance(by: .minutes(9))
        #expect(levels.isLogged(.debug, by: "Relays"))
        clock.advance(by: .minutes(1))
        #expect(!levels.isLogged(.debug, by: "Relays"))
        #expect(levels.lowest == .info && levels.settings.isEmpty)
    }

    @Test func componentNamesAreCaseInsensitive() {
        #expect(LogComponents.named("relays") == "Relays" && LogComponents.named("nothing") == nil)
    }
}
