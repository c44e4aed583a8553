import Testing
import TimeTestSupport
import Units

@testable import PluginHost

@Suite struct CrashSuspectsTests {
    private let start = Timestamp(seconds: 1_800_000_000)

    private func call(_ subject: String, plugin: String = "a.so") -> InterruptedCall {
        InterruptedCall(plugin: plugin, function: .deliver, subject: subject)
    }

    @Test func oneDeathIsAnAccidentAndTwoAreNot() {
        let once = CrashSuspects(known: [], interrupted: [call("1"), call("2")], now: start)
        #expect(!once.isGuilty(plugin: "a.so", subject: "1"))
        let twice = CrashSuspects(known: once.all, interrupted: [call("1")], now: start + .minutes(1))
        #expect(twice.isGuilty(plugin: "a.so", subject: "1"))
        #expect(!twice.isGuilty(plugin: "a.so", subject: "2"))
        #expect(!twice.isGuilty(plugin: "b.so", subject: "1"))
    }

    @Test func oneDeathCountsOnceHoweverManyThreadsWereInside() {
        let answer = InterruptedCall(plugin: "a.so", function: .response, subject: "1")
        let once = CrashSuspects(known: [], interrupted: [call("1"), answer], now: start)
        #expect(!once.isGuilty(plugin: "a.so", subject: "1"))
        #expect(once.all.count == 1)
    }

    @Test func whatHasNoNameIsNoSuspect() {
        let suspects = CrashSuspects(known: [], interrupted: [call("")], now: start)
        #expect(suspects.all.isEmpty && !suspects.isAlone(now: start))
    }

    @Test func callsGoOneByOneUntilAllSuspectsWereSeenAndALittleLonger() {
        var suspects = CrashSuspects(known: [], interrupted: [call("1"), call("2")], now: start)
        suspects.begins(plugin: "a.so", subject: "1", now: start + .seconds(1))
        suspects.begins(plugin: "a.so", subject: "other", now: start + .seconds(1))
        #expect(suspects.isAlone(now: start + .minutes(9)))
        suspects.begins(plugin: "a.so", subject: "2", now: start + .seconds(2))
        #expect(suspects.isAlone(now: start + .seconds(61)))
        #expect(!suspects.isAlone(now: start + .seconds(62)))
    }

    @Test func suspectsThatNeverComeAreNotWaitedForLong() {
        let suspects = CrashSuspects(known: [], interrupted: [call("1")], now: start)
        #expect(suspects.isAlone(now: start + .seconds(599)))
        #expect(!suspects.isAlone(now: start + .minutes(10)))
    }

    @Test func theGuiltyHoldNobodyUp() {
        let known = [CrashSuspects.Entry(call("1"), deaths: 2, at: start)]
        let suspects = CrashSuspects(known: known, interrupted: [], now: start + .hours(1))
        #expect(suspects.isGuilty(plugin: "a.so", subject: "1"))
        #expect(!suspects.isAlone(now: start + .hours(1)))
    }

    @Test func allIsForgottenAfterADayAndTheOldestWhenThereAreTooMany() {
        let known = (0..<200).map { CrashSuspects.Entry(call("\($0)"), deaths: 1, at: start + .seconds(Int64($0))) }
        let suspects = CrashSuspects(known: known, interrupted: [], now: start + .hours(1))
        #expect(suspects.all.count == CrashSuspects.capacity)
        #expect(suspects.all.first?.call.subject == "72")
        let later = CrashSuspects(known: suspects.all, interrupted: [], now: start + .hours(25))
        #expect(later.all.isEmpty)
    }
}
