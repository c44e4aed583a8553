import Dispatch
import Synchronization
import Testing

@testable import CarillonRouter

/// The first survey of registered devices, which runs in parallel with the router.
struct FirstSurveyTests {
    private struct Unreadable: Error {}

    @Test func onlyTheEndWaitsForTheSurvey() async {
        let isAllowed = DispatchSemaphore(value: 0)
        let hasRead = Mutex(false)
        let survey = FirstSurvey { Issue.record("failed: \($0)") }
        survey.begin {
            isAllowed.wait()
            hasRead.withLock { $0 = true }
        }
        #expect(hasRead.withLock { !$0 })
        isAllowed.signal()
        await survey.end()
        #expect(hasRead.withLock { $0 })
    }

    @Test func surveyFailureIsReported() async {
        let failures = Mutex<[any Error]>([])
        let survey = FirstSurvey { error in failures.withLock { $0.append(error) } }
        survey.begin { throw Unreadable() }
        await survey.end()
        #expect(failures.withLock { $0.first is Unreadable && $0.count == 1 })
    }

    @Test func surveyThatNeverStartedHasEnded() async {
        await FirstSurvey { Issue.record("failed: \($0)") }.end()
    }
}
