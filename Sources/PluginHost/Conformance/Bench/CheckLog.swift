import HTTPLanes

/// What a plugin did to one host: a pure structure that knows no lock, thread or plugin.
struct CheckLog: Sendable {
    struct Delivery: Sendable {
        /// Nil while the call is under way.
        var isAccepted: Bool?
        var endings: [Ending] = []
    }

    private(set) var deliveries: [UInt64: Delivery] = [:]
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

    var isIdle: Bool { owed == 0 && openRequests == 0 }
}
