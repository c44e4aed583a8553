import CarillonABI
import HTTPClient
import PluginHost
import PluginProtocol

/// The log of a plugin's calls to one host. Pure, without locks or threads.
struct CheckLog: Sendable {
    /// A call that the plugin must answer once if it accepts it.
    struct Call<Answer: Sendable>: Sendable {
        /// Nil while the call is in progress.
        var isAccepted: Bool?
        var answers: [Answer] = []

        /// Accepted, but not answered.
        var isOwed: Bool { isAccepted != false && answers.isEmpty }
        /// Answered although not accepted.
        var isAnsweredUnasked: Bool { isAccepted == false && !answers.isEmpty }
    }

    private(set) var deliveries: [UInt64: Call<Ending>] = [:]
    /// Inbound requests, and whether each answer is valid.
    private var inbound: [Call<Bool>] = []
    private(set) var commands: [Call<(isOK: Bool, isText: Bool, isEmpty: Bool)>] = []
    /// Completions of unknown tickets.
    private(set) var strays = 0
    private(set) var requests: [HTTPRequest] = []
    /// Problems of requests that the host could not accept.
    private(set) var flaws: [String] = []
    /// Problems of its streams.
    private(set) var streamFlaws: [String] = []
    /// The number of requested streams.
    private(set) var streams = 0
    private(set) var openRequests = 0
    private(set) var lines: [[UInt8]] = []
    private(set) var callsAfterDestroy = 0
    private var timers = 0
    /// Keys that it set or read.
    private(set) var stateKeys: Set<[UInt8]> = []
    private var serviceFlaws: [String] = []
    /// How often a filter set a field after its call.
    private(set) var lateSets = 0
    private var isDestroyed = false

    mutating func begin(_ ticket: UInt64) { deliveries[ticket] = Call() }

    mutating func answered(_ ticket: UInt64, isAccepted: Bool) { deliveries[ticket]?.isAccepted = isAccepted }

    mutating func end(_ ticket: UInt64, _ ending: Ending) {
        callIsMade()
        if deliveries[ticket] == nil { strays += 1 }
        deliveries[ticket]?.answers.append(ending)
    }

    /// Returns the command's number.
    mutating func beginCommand() -> Int {
        commands.append(Call())
        return commands.count - 1
    }

    mutating func took(command number: Int, isAccepted: Bool) { commands[number].isAccepted = isAccepted }

    mutating func answer(_ number: Int, isOK: Bool, isText: Bool, isEmpty: Bool) {
        callIsMade()
        commands[number].answers.append((isOK, isText, isEmpty))
    }

    /// Returns the request's number.
    mutating func beginInbound() -> Int {
        inbound.append(Call())
        return inbound.count - 1
    }

    mutating func took(inbound number: Int, isAccepted: Bool) { inbound[number].isAccepted = isAccepted }

    mutating func answer(inbound number: Int, isWellFormed: Bool) {
        callIsMade()
        inbound[number].answers.append(isWellFormed)
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

    mutating func opensStream() {
        callIsMade()
        streams += 1
    }

    mutating func streamFlaw(_ text: String) {
        callIsMade()
        streamFlaws.append(text)
    }

    mutating func line(_ bytes: [UInt8]) {
        callIsMade()
        lines.append(bytes)
    }

    mutating func startsTimer() {
        callIsMade()
        timers += 1
    }

    mutating func cancelsTimer() { callIsMade() }

    mutating func usesState(_ key: [UInt8]) {
        callIsMade()
        stateKeys.insert(key)
    }

    /// Records a wrong use of a service.
    mutating func serviceFlaw(_ text: String) {
        callIsMade()
        serviceFlaws.append(text)
    }

    /// Whether requests may come from a timer's call.
    var hasTimers: Bool { timers > 0 }

    var usesServices: Bool { timers > 0 || !stateKeys.isEmpty }

    var servicesInWords: String { "\(timers) timers, \(stateKeys.count) keys" }

    mutating func setTooLate() { lateSets += 1 }

    mutating func destroy() { isDestroyed = true }

    private mutating func callIsMade() { if isDestroyed { callsAfterDestroy += 1 } }

    /// The number of accepted, unfinished deliveries.
    var owed: Int { deliveries.values.count(where: \.isOwed) }

    private var owesAnswer: Bool { commands.contains(where: \.isOwed) }
    private var owesReply: Bool { inbound.contains(where: \.isOwed) }

    var isIdle: Bool { owed == 0 && !owesAnswer && !owesReply && openRequests == 0 }

    /// How the log breaks the rule of `check`; nil if it does not. There are rules for completions, outcomes, requests,
    /// commands and services.
    func breach(of check: ConformanceCheck) -> String? {
        switch check {
        case .completes: unended
        case .completesOnce: repeated
        case .outcome: deliveries.values.lazy.flatMap(\.answers).first { !$0.flaw.isEmpty }?.flaw
        case .requests:
            flaws.first.map { "the host could not send a request: \($0)" } ?? scattered
                ?? streamFlaws.first.map { "the host could not serve a stream: \($0)" } ?? hasty
        case .command: unanswered ?? answeredTwice ?? unreadable
        case .services: serviceFlaws.first
        case .receive: unanswerable
        default: nil
        }
    }

    private var unanswerable: String? {
        if owesReply, openRequests == 0 {
            return
                "it accepted an inbound request and did not respond: after returning CARILLON_OK from receive, call done "
                + "exactly once"
        }
        if inbound.contains(where: { $0.answers.count > 1 || $0.isAnsweredUnasked }) {
            return "it responded to an inbound request that it did not accept, or twice"
        }
        guard inbound.contains(where: { $0.answers.contains(false) }) else { return nil }
        return
            "its response to an inbound request cannot be sent: expected a status from 200 to 599, at most 16 headers "
            + "with names in lower case that do not frame the message, and at most 256 KiB of body"
    }

    private var unended: String? {
        let owed = owed
        // Strays explain missing completions, and so does a pending response.
        guard owed > 0, strays == 0, openRequests == 0 else { return nil }
        return
            "\(owed) of \(deliveries.count) accepted deliveries never ended: after returning CARILLON_OK from deliver, "
            + "call host->complete exactly once, for every response"
    }

    private var repeated: String? {
        if strays > 0 {
            return "it ended a ticket that is not its own: keep the ticket's 64 bits and pass them back"
        }
        if deliveries.values.contains(where: { $0.answers.count > 1 }) {
            return "it ended a ticket twice: call host->complete once for each accepted delivery"
        }
        if deliveries.values.contains(where: \.isAnsweredUnasked) {
            return "it ended a ticket whose delivery it did not accept: return CARILLON_OK, or leave the ticket alone"
        }
        return nil
    }

    /// Connection words that do not repeat, so that connections are not reused.
    private var scattered: String? {
        let words = requests.compactMap { $0.scope?.word }
        let distinct = Set(words).count
        guard distinct > 16, distinct * 2 > words.count else { return nil }
        return
            "\(words.count) requests were sent on \(distinct) different connections: each word gets its own "
            + "connections, so use the same one as long as the credentials are the same"
    }

    /// Streams that are reopened immediately after they end.
    private var hasty: String? {
        guard streams > 1_000, streams > 20 * (deliveries.count + 1) else { return nil }
        return
            "it opened \(streams) streams for \(deliveries.count) deliveries: when a stream ends, wait before the next, and "
            + "longer each time"
    }

    static let unansweredCommand =
        "it accepted a command and did not respond: after returning CARILLON_OK from command, call done exactly once"

    private var unanswered: String? { owesAnswer && openRequests == 0 ? Self.unansweredCommand : nil }

    private var answeredTwice: String? {
        if commands.contains(where: { $0.answers.count > 1 }) {
            return "it responded to a command twice: call done once for each command it accepted"
        }
        guard commands.contains(where: \.isAnsweredUnasked) else { return nil }
        return "it responded to a command that it did not accept: return CARILLON_OK, or do not call done"
    }

    private var unreadable: String? {
        let answers = commands.lazy.flatMap(\.answers)
        if answers.contains(where: { !$0.isText }) { return "its response to a command is not UTF-8" }
        guard answers.contains(where: { !$0.isOK && $0.isEmpty }) else { return nil }
        return "a command failed without a message: write what is wrong and what was expected"
    }
}

/// One outcome from a plugin.
struct Ending: Sendable {
    /// Nil if the ABI does not define it.
    var kind: carillon_outcome_kind?
    var retryAfter: UInt32 = 0
    /// The problem with the outcome's form; empty if there is none.
    var flaw = ""

    init(reading pointer: UnsafePointer<carillon_outcome>?) {
        guard let pointer else {
            flaw = "the outcome is NULL"
            return
        }
        guard let outcome = carillon_outcome(adopting: pointer) else {
            flaw = "the outcome's struct_size is implausible: set it to sizeof(carillon_outcome)"
            return
        }
        retryAfter = outcome.retry_after_ms
        guard (0...4).contains(outcome.kind.rawValue) else {
            flaw = "the outcome's kind is \(outcome.kind.rawValue), which is none of carillon_outcome_kind"
            return
        }
        kind = outcome.kind
        guard let reason = PluginText.string(outcome.reason, limit: 40), reason.utf8.allSatisfy(PluginText.isWordByte)
        else {
            flaw = "the outcome's reason must be at most 40 of a-z, 0-9 and \"-\", or empty"
            return
        }
        if outcome.provider_status > 999 { flaw = "the outcome's provider_status is not an HTTP status" }
        if !(0...3).contains(outcome.scope.rawValue) {
            flaw = "the outcome's scope is \(outcome.scope.rawValue), which is none of carillon_scope"
        }
    }
}

extension carillon_outcome_kind {
    /// Its name in the header.
    var name: String {
        switch self {
        case .CARILLON_DELIVERED: "CARILLON_DELIVERED"
        case .CARILLON_GONE: "CARILLON_GONE"
        case .CARILLON_REJECTED: "CARILLON_REJECTED"
        case .CARILLON_RETRY: "CARILLON_RETRY"
        case .CARILLON_MISCONFIGURED: "CARILLON_MISCONFIGURED"
        @unknown default: "unknown"
        }
    }
}
