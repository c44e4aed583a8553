import HTTPLanes

/// What a plugin did to one host: a pure structure that knows no lock, thread or plugin.
struct CheckLog: Sendable {
    struct Delivery: Sendable {
        /// Nil while the call is under way.
        var isAccepted: Bool?
        var endings: [Ending] = []
    }

    struct Command: Sendable {
        /// Nil while the call is under way.
        var isAccepted: Bool?
        var answers: [(isOK: Bool, isText: Bool, isEmpty: Bool)] = []
    }

    private(set) var deliveries: [UInt64: Delivery] = [:]
    private(set) var commands: [Command] = []
    /// Ends of tickets that were never given out.
    private(set) var strays = 0
    private(set) var requests: [HTTPRequest] = []
    /// What was wrong with the requests that the host could not take.
    private(set) var flaws: [String] = []
    private(set) var openRequests = 0
    private(set) var lines: [[UInt8]] = []
    private(set) var callsAfterDestroy = 0
    private var isDestroyed = false

    mutating func begin(_ ticket: UInt64) { deliveries[ticket] = Delivery() }

    mutating func answered(_ ticket: UInt64, isAccepted: Bool) { deliveries[ticket]?.isAccepted = isAccepted }

    mutating func end(_ ticket: UInt64, _ ending: Ending) {
        callIsMade()
        if deliveries[ticket] == nil { strays += 1 }
        deliveries[ticket]?.endings.append(ending)
    }

    /// Returns the command's number.
    mutating func beginCommand() -> Int {
        commands.append(Command())
        return commands.count - 1
    }

    mutating func took(command number: Int, isAccepted: Bool) { commands[number].isAccepted = isAccepted }

    mutating func answer(_ number: Int, isOK: Bool, isText: Bool, isEmpty: Bool) {
        callIsMade()
        commands[number].answers.append((isOK, isText, isEmpty))
    }

    mutating func request(_ request: HTTPRequest) {
        callIsMade()
        requests.append(request)
        openRequests += 1
    }

    mutating func requestIsDone() { openRequests -= 1 }

    mutating func flaw(_ text: String) {
        callIsMade()
        flaws.append(text)
    }

    mutating func line(_ bytes: [UInt8]) {
        callIsMade()
        lines.append(bytes)
    }

    mutating func destroy() { isDestroyed = true }

    private mutating func callIsMade() { if isDestroyed { callsAfterDestroy += 1 } }

    /// Accepted, and not ended.
    var owed: Int { deliveries.values.count { $0.isAccepted != false && $0.endings.isEmpty } }

    /// Accepted, and not answered.
    var owedAnswers: Int { commands.count { $0.isAccepted != false && $0.answers.isEmpty } }

    var isIdle: Bool { owed == 0 && owedAnswers == 0 && openRequests == 0 }
}
