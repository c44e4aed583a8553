import Units

/// When a process is started again after its death. Pure.
///
/// The first time at once, then after 1, 2, 4 … 60 s, until it has lived a minute. A death that helps to find a culprit
/// counts less: such deaths end by themselves.
package struct RestartPolicy: Sendable {
    /// What follows a death.
    package enum Next: Sendable, Equatable {
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

    package init(unit: Duration = .seconds(1)) { self.unit = unit }

    /// A process died that was started at `start`. `isExplained`: one suspected delivery was alone in it.
    package mutating func died(at now: Deadline, startedAt start: Deadline, isExplained: Bool) -> Next {
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
