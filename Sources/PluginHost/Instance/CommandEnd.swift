import CarillonABI

/// What came of an operator's command.
enum CommandEnd: Sendable, Hashable {
    case answered(String)
    case failed(String)
    /// The plugin did not take it on.
    case refused(carillon_status)
    case tooMany
    case unanswered
    case draining
}
