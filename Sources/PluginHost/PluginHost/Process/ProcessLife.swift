import Core
import Foundation
import Synchronization

/// Whether a plugin's process runs, rests, or must be restarted. Pure: its owner starts and ends processes.
struct ProcessLife: Sendable {
    /// The answer to a caller that needs the process.
    enum Need: Sendable, Equatable {
        case runs
        /// It is starting, or must be started now.
        case starts
        /// It will not run soon.
        case fails
    }

    private enum Phase: Sendable {
        /// There is no process, and none is needed.
        case resting
        case running
        /// The process is restarted at this time.
        case restarting(at: Deadline)
        /// It ended too often, and is retried at this time.
        case pausing(until: Deadline)
        case stopped
    }

    private var phase = Phase.resting
    /// The number of existing or starting instances: while there are any, the process does not rest.
    private var users = 0
    private var policy: RestartPolicy
    /// When the running process was started.
    private(set) var startedAt = Deadline.distantPast
    private(set) var crashes = 0
    private(set) var lastCrash: String?

    init(_ policy: RestartPolicy) { self.policy = policy }

    /// When to start a process; nil: only on demand.
    var due: Deadline? {
        switch phase {
        case .stopped, .resting, .running: nil
        case .restarting(let at): at
        case .pausing(let until): until
        }
    }

    /// Whether the process has ended permanently.
    var isStopped: Bool { if case .stopped = phase { true } else { false } }

    /// Its state in reports.
    var reported: PluginProcessReport.State {
        switch phase {
        case .running, .resting, .stopped: .running
        case .restarting: .restarting
        case .pausing: .pausing
        }
    }

    /// Notes that a process runs. False: it is no longer needed.
    mutating func begin(now: Deadline) -> Bool {
        guard !isStopped else { return false }
        phase = .running
        startedAt = now
        return true
    }

    /// Notes that a caller needs the process within `span`; a resting one must be started.
    mutating func need(now: Deadline, within span: Duration) -> Need {
        switch phase {
        case .running: return .runs
        case .pausing, .stopped: return .fails
        case .restarting(let at): return at - now < span ? .starts : .fails
        case .resting:
            phase = .restarting(at: now)
            return .starts
        }
    }

    /// Notes that the process that was started at `start` has ended; `text` describes it. Nil: its end was planned.
    mutating func died(
        _ text: String,
        at now: Deadline,
        startedAt start: Deadline,
        isExplained: Bool
    ) -> RestartPolicy.Next? {
        guard !isStopped else { return nil }
        crashes += 1
        lastCrash = text
        let next = policy.died(at: now, startedAt: start, isExplained: isExplained)
        switch next {
        case .restart(let pause): phase = .restarting(at: now + pause)
        case .pause(let pause): phase = .pausing(until: now + pause)
        }
        return next
    }

    /// The life of one library's separate process, which is started immediately if it has `users`.
    func part(users: Int, now: Deadline) -> ProcessLife {
        var part = self
        part.users = users
        part.phase = users == 0 ? .resting : .restarting(at: now)
        return part
    }

    /// Notes that an instance is about to be created; ``leave()`` must follow when it is gone, or was not created.
    mutating func enter() { users += 1 }

    mutating func leave() { users -= 1 }

    /// Lets the process rest. False: it is needed, or does not run.
    mutating func rest() -> Bool {
        guard users == 0, case .running = phase else { return false }
        phase = .resting
        return true
    }

    /// No process will run again.
    mutating func stop() { phase = .stopped }
}

/// The restart policy after a process's death. Pure.
///
/// The first restart is immediate, later ones follow after 1, 2, 4 … 60 s, until a process has lived a minute. A death
/// that helps to find a culprit counts less: such crashes end on their own.
struct RestartPolicy: Sendable {
    /// The next step after a death.
    enum Next: Sendable, Equatable {
        case restart(after: Duration)
        /// It died too often: retry after a while.
        case pause(Duration)
    }

    private static var longest: Duration { .minutes(1) }
    /// The maximum of unexplained crashes per minute.
    private static var limit: Int { 5 }
    /// The maximum of crashes per minute with a single suspect, which cause no delay.
    private static var explainedLimit: Int { 20 }

    /// The second delay; the first is 0. Zero: never wait.
    private let unit: Duration
    private var explained: [Deadline] = []
    private var unexplained: [Deadline] = []
    private var pauses = 0

    init(unit: Duration = .seconds(1)) { self.unit = unit }

    /// Records the death of a process that was started at `start`. `isExplained`: it had a single suspected delivery.
    mutating func died(at now: Deadline, startedAt start: Deadline, isExplained: Bool) -> Next {
        guard unit > .zero else { return .restart(after: .zero) }
        if now - start >= Self.longest { pauses = 0 }
        explained.removeAll { now - $0 >= Self.longest }
        unexplained.removeAll { now - $0 >= Self.longest }
        if isExplained {
            explained.append(now)
            if explained.count <= Self.explainedLimit { return .restart(after: .zero) }
        } else {
            unexplained.append(now)
        }
        defer { pauses += 1 }
        guard unexplained.count < Self.limit, pauses < 7 else { return .pause(Self.longest) }
        return .restart(after: pauses == 0 ? .zero : min(Self.longest, unit * (1 << (pauses - 1))))
    }
}

/// The thread that restarts a process when that is due.
final class RestartKeeper: Sendable {
    /// The next task.
    enum Next: Sendable {
        /// Start it at this time, unless another task comes first; nil: no task.
        case restart(at: Deadline?)
        /// The thread may end.
        case end
    }

    private let isStarted = Atomic(false)
    private let news = MonotonicSemaphore()
    private let now: @Sendable () -> Deadline

    init(now: @escaping @Sendable () -> Deadline) { self.now = now }

    /// Starts the thread once. It calls `next` again after each ``wake()``.
    func start(_ next: @escaping @Sendable () -> Next, restart: @escaping @Sendable () -> Void) {
        guard !isStarted.exchange(true, ordering: .relaxed) else { return }
        let thread = Thread { [self] in keep(next, restart) }
        thread.name = "plugin-keeper"
        thread.start()
    }

    private func keep(_ next: () -> Next, _ restart: () -> Void) {
        while case .restart(let due) = next() {
            let now = now()
            if let due, due <= now {
                restart()
            } else if let due {
                _ = news.wait(until: .now() + (due - now))
            } else {
                _ = news.wait(until: nil)
            }
        }
    }

    /// Makes the thread check for another task.
    func wake() { news.signal() }
}
