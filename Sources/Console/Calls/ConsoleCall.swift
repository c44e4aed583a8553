import Units

/// What an operator asks by the API; all but the first three take the token.
package enum ConsoleCall: Sendable, Equatable {
    /// Whether the process works at all.
    case health
    /// Whether it can do all that it should; `withDetails` for those who may know names and reasons.
    case readiness(withDetails: Bool)
    case metrics
    /// The steps of an event, for one recipient or all of them. Both as the client wrote them.
    case explain(event: String, recipient: String?)
    /// The devices of an account, as the client wrote it, or all of them, from behind the one of that number on.
    case devices(account: String?, after: Int64?)
    case device(Int64)
    case removeDevice(Int64)
    /// A test push, in the mode of that name or in the device's own.
    case testDevice(Int64, mode: String?)
    case reload
    /// How the plugins' processes are doing.
    case plugins
    /// How the router is doing, what is amiss, and what helps.
    case status
    /// How it stands with each relay, or with those whose URL contains that text, in more detail.
    case relays(containing: String?)
    /// Who uses the router, narrowed down by the request's parameters.
    case users([String: String])
    /// One user, as the client wrote it.
    case user(String)
    /// The rules of access.
    case accessRules
    /// To change a rule, of relays or of users: what is to be done, and for which key, network or relay.
    case decide(String, isOfRelays: Bool, [String: String])
    /// The levels of the log.
    case logs
    case setLog([String: String])
    /// Deliveries that wait or failed, as the parameters choose them.
    case queue([String: String])
    /// All that is known of one of them, by its id.
    case queued(String)
    /// Sends the ones chosen again.
    case retryQueue([String: String])
    /// Drops the ones chosen.
    case dropQueue([String: String])
    /// Counts by day.
    case statistics([String: String])
}

/// What the API answers: a status, and a body which is JSON but for the metrics.
package struct ConsoleAnswer: Sendable, Equatable {
    package var status: Int
    package var body: String
    package var contentType = "application/json"
    /// The time after which the client may come again; nil: the answer does not say.
    var retryAfter: Duration?
    /// The methods there are, where it was the wrong one.
    var allow: String?

    /// `body` is JSON.
    package init(status: Int = 200, body: String) {
        self.status = status
        self.body = body
    }

    package static func metrics(_ families: [MetricFamily]) -> ConsoleAnswer {
        var answer = ConsoleAnswer(body: Exposition.text(of: families))
        answer.contentType = Exposition.contentType
        return answer
    }

    /// `{"error": …}`: what is wrong and what was expected.
    package static func failure(_ status: Int, _ message: String) -> ConsoleAnswer {
        ConsoleAnswer(status: status, body: "{\"error\":\(JSONText.quoted(message))}\n")
    }

    static func tooMany(retryAfter pause: Duration) -> ConsoleAnswer {
        var answer = failure(429, "too many requests from this address: wait \(pause.seconds) s")
        answer.retryAfter = pause
        return answer
    }

    static func wrongMethod(allow: String) -> ConsoleAnswer {
        var answer = failure(405, "expected one of these methods here: \(allow)")
        answer.allow = allow
        return answer
    }
}

/// What stands behind the API: the running router. Called from any thread, many calls at a time.
package protocol ConsoleBackend: Sendable {
    func answer(_ call: ConsoleCall) async -> ConsoleAnswer

    /// What a plugin answers to a request from outside; nil where there is none that takes one. The default has none.
    func receive(_ call: InboundCall) async -> InboundReply?
}

extension ConsoleBackend {
    package func receive(_ call: InboundCall) async -> InboundReply? { nil }
}

/// Text as a JSON string (RFC 8259).
package enum JSONText {
    package static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
