import Core
import Logging
import Synchronization
import Testing

@testable import CarillonRouter

@Suite struct WatchdogTests {
    private struct Enough: Error {}

    @Test func watchdogIsNotifiedOnlyWhileNoThreadIsStuck() async {
        let rounds = Mutex<[[String]]>([[], ["pipeline"], ["courier", "pipeline"], []])
        let asked = Mutex<[Duration]>([])
        let heard = Mutex<[Int]>([])
        let watchdog = Watchdog(
            interval: .seconds(1),
            stuck: { timeout in
                asked.withLock { $0.append(timeout) }
                return rounds.withLock { $0.removeFirst() }
            },
            alive: { heard.withLock { $0.append(rounds.withLock(\.count)) } },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            pause: { _ in if rounds.withLock(\.isEmpty) { throw Enough() } }
        )
        await watchdog.run()
        #expect(heard.withLock { $0 } == [3, 0])
        // Asking and pausing take half of the manager's timeout.
        #expect(asked.withLock { $0 } == Array(repeating: .milliseconds(250), count: 4))
    }
}
