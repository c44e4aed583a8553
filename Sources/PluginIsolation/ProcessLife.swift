import Units

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
