import Core
import Foundation
import Synchronization

/// Whether a plugin's process runs, rests, or is to be started again. Pure: its owner starts and ends processes.
struct ProcessLife: Sendable {
    /// What somebody gets who needs the process.
    enum Need: Sendable, Equatable {
        case runs
        /// It is being started, or is to be started now.
        case starts
        /// It will not run soon.
        case fails
    }

    private enum Phase: Sendable {
        /// There is no process, and none is wanted.
        case resting
        case running
        /// The process is started, or is to be started at this moment.
        case restarting(at: Deadline)
        /// It ended too often, and is tried again at this moment.
        case pausing(until: Deadline)
        case stopped
    }

    private var phase = Phase.resting
    /// Instances that are there or about to be made: as long as there are any, the process does not rest.
    private var users = 0
    private var policy: RestartPolicy
    /// When the process that runs was started.
    private(set) var startedAt = Deadline.distantPast
    private(set) var deaths = 0
    private(set) var lastDeath: String?

    init(_ policy: RestartPolicy) { self.policy = policy }

    /// When a process is to be started; nil: not before somebody needs it.
    var due: Deadline? {
        switch phase {
        case .stopped, .resting, .running: nil
        case .restarting(let at): at
        case .pausing(let until): until
        }
    }

    /// Whether the process has ended for good.
    var isStopped: Bool { if case .stopped = phase { true } else { false } }

    /// How it reads in reports.
    var reported: PluginProcessReport.State {
        switch phase {
        case .running, .resting, .stopped: .running
        case .restarting: .restarting
        case .pausing: .pausing
        }
    }

    /// A process works from now on. False: none is wanted any more.
    mutating func begin(now: Deadline) -> Bool {
        guard !isStopped else { return false }
        phase = .running
        startedAt = now
        return true
    }

    /// Somebody needs the process within `span`; one that rests is to be started.
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

    /// The process, which was started at `start`, has ended: `text` says how. Nil: it was to end.
    mutating func died(
        _ text: String,
        at now: Deadline,
        startedAt start: Deadline,
        isExplained: Bool
    ) -> RestartPolicy.Next? {
        guard !isStopped else { return nil }
        deaths += 1
        lastDeath = text
        let next = policy.died(at: now, startedAt: start, isExplained: isExplained)
        switch next {
        case .restart(let pause): phase = .restarting(at: now + pause)
        case .pause(let pause): phase = .pausing(until: now + pause)
        }
        return next
    }

    /// That of one of several libraries in a process of its own, which is started at once if there are `users` of it.
    func part(users: Int, now: Deadline) -> ProcessLife {
        var part = self
        part.users = users
        part.phase = users == 0 ? .resting : .restarting(at: now)
        return part
    }

    /// An instance is about to be made; ``leave()`` must follow when it is gone, or was not made.
    mutating func enter() { users += 1 }

    mutating func leave() { users -= 1 }

    /// The process is to rest, unless somebody needs it. False: somebody does, or it does not run.
    mutating func rest() -> Bool {
        guard users == 0, case .running = phase else { return false }
        phase = .resting
        return true
    }

    /// No process will run any more.
    mutating func stop() { phase = .stopped }
}

/// When a process is started again after its death. Pure.
///
/// The first time at once, then after 1, 2, 4 … 60 s, until it has lived a minute. A death that helps to find a culprit
/// counts less: such deaths end by themselves.
struct RestartPolicy: Sendable {
    /// What follows a death.
    enum Next: Sendable, Equatable {
        case restart(after: Duration)
        /// It died too often: it is tried again after a while, to see whether it lives now.
        case pause(Duration)
    }

    private static var longest: Duration { .minutes(1) }
    /// Deaths a minute that no delivery explains, and that are too many.
    private static var limit: Int { 5 }
    /// Deaths a minute of suspects that were alone, and that cost no pause.
    private static var explainedLimit: Int { 20 }

    /// The second pause; the first is none. Zero: never pause.
    private let unit: Duration
    private var explained: [Deadline] = []
    private var unexplained: [Deadline] = []
    private var pauses = 0

    init(unit: Duration = .seconds(1)) { self.unit = unit }

    /// A process died that was started at `start`. `isExplained`: one suspected delivery was alone in it.
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

/// The thread that starts a process again when that is due.
final class RestartKeeper: Sendable {
    /// What there is to do.
    enum Next: Sendable {
        /// Start it at this moment, unless there is something else to do by then; nil: nothing.
        case restart(at: Deadline?)
        /// The thread may end.
        case end
    }

    private let isStarted = Atomic(false)
    private let news = MonotonicSemaphore()
    private let now: @Sendable () -> Deadline

    init(now: @escaping @Sendable () -> Deadline) { self.now = now }

    /// Starts the thread, unless it has been started. It asks `next` again after each ``wake()``.
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

    /// There may be something else to do.
    func wake() { news.signal() }
}
