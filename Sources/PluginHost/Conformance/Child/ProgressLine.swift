/// One line, in JSON, of what a process that runs checks tells the process that started it.
enum ProgressLine: Sendable, Hashable, Codable {
    case started(check: ConformanceCheck, platform: String?)
    /// What exactly happens within the check, should it be the last thing that happens.
    case at(what: String)
    case finished(result: CheckResult)
    /// There is nothing more to come.
    case ended
}
