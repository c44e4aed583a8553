import Logging
import Synchronization
import Testing

@testable import CarillonRouter

@Suite struct WatchdogTests {
    private struct Enough: Error {}

    @Test func saysThatItIsAliveOnlyWhileNothingIsStuck() async {
        let rounds = Mutex<[[String]]>([[], ["pipeline"], ["courier", "pipeline"], []])
        let asked = Mutex<[Int64]>([])
        let heard = Mutex<[Int]>([])
        let watchdog = Watchdog(
            interval: 1_000,
            stuck: { milliseconds in
                asked.withLock { $0.append(milliseconds) }
                return rounds.withLock { $0.removeFirst() }
            },
            alive: { heard.withLock { $0.append(rounds.withLock(\.count)) } },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            pause: { _ in if rounds.withLock(\.isEmpty) { throw Enough() } }
        )
        await watchdog.run()
        #expect(heard.withLock { $0 } == [3, 0])
        // Asking and resting take half of what the manager waits.
        #expect(asked.withLock { $0 } == [250, 250, 250, 250])
    }
}
