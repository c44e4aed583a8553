/// What the API answers: a status, and a body which is JSON but for the metrics.
package struct ConsoleAnswer: Sendable, Equatable {
    package var status: Int
    package var body: String
    package var contentType = "application/json"
    /// Seconds after which the client may come again; nil: the answer does not say.
    var retryAfter: Int?
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

    static func tooMany(retryAfter seconds: Int) -> ConsoleAnswer {
        var answer = failure(429, "too many requests from this address: wait \(seconds) s")
        answer.retryAfter = seconds
        return answer
    }

    static func wrongMethod(allow: String) -> ConsoleAnswer {
        var answer = failure(405, "expected one of these methods here: \(allow)")
        answer.allow = allow
        return answer
    }
}
