package import CarillonABI
import Core

/// What became of a request; borrowed for the duration of the completion.
public struct HTTPResponse: ~Copyable {
    private let abi: carillon_http_response

    /// A missing struct reads as no answer.
    package init(_ pointer: UnsafePointer<carillon_http_response>?) {
        abi = pointer.map(carillon_http_response.adopt) ?? carillon_http_response()
    }

    /// The status, or 0 when no answer arrived.
    public var status: UInt32 { abi.status }

    /// The body, as far as the request's `maxResponseBytes` let the host read it.
    public var body: BorrowedText { BorrowedText(abi.body) }

    /// Why no answer arrived, as the host says: one word that is fit to be an outcome's reason, else `no-answer`.
    public var failure: String {
        let word = BorrowedText(abi.failure)
        let fits =
            (1...40).contains(word.count)
            && word.bytes.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
            }
        return fits ? word.string : "no-answer"
    }

    /// The first field of that name, which is in lower case; nil when there is none.
    public func header(_ name: StaticString) -> BorrowedText? {
        guard let headers = abi.headers else { return nil }
        for header in UnsafeBufferPointer(start: headers, count: abi.header_count)
        where BorrowedText(header.name) == name {
            return BorrowedText(header.value)
        }
        return nil
    }

    /// How long `Retry-After` asks to wait (RFC 9110 section 10.2.3: seconds or a date) from `now` on; zero when it
    /// does not ask or cannot be read.
    public func retryAfter(now: Timestamp) -> Duration {
        guard let field = header("retry-after") else { return .zero }
        return RetryAfter.span(field.string, now: now)
    }
}

/// What a push service of the users' own choice answered, and what follows from it (RFC 8030 section 5; UnifiedPush
/// SERV_1.2.0).
///
/// Never ``Outcome/Kind/misconfigured``: users choose the push services, so that one that answers 401 or 403 must not
/// stop the messages to all others. It loses this message and keeps its device. What asks to slow down is its host's
/// affair.
public struct PushServiceAnswer {
    /// The HTTP status, 100 to 599.
    public let status: UInt32
    /// What `Retry-After` asks for.
    private let retryAfter: Duration
    /// Why there is no answer, when `status` is 0.
    private let failure: String
    /// What ntfy says beside a status, as in `{"code":42908,…}`.
    public let code: Int64?
    private let now: Timestamp

    /// How long after midnight ntfy is asked again: where its clock is behind ours, it is still the day before.
    private static let midnightMargin: Duration = .seconds(30)

    public init(_ response: borrowing HTTPResponse, now: Timestamp) {
        status = response.status
        failure = response.failure
        retryAfter = response.retryAfter(now: now)
        code = response.status >= 400 ? (try? response.body.jsonObject())?["code"]?.integer : nil
        self.now = now
    }

    /// What the status says, and ntfy's code where a day's messages are used up.
    public var outcome: Outcome {
        switch status {
        case 0: unanswered
        case 200...299: outcome(.delivered, "delivered")
        case 300...399: outcome(.rejected, "redirect")
        case 401: outcome(.rejected, "unauthorized")
        case 403: outcome(.rejected, "forbidden")
        case 404: outcome(.gone, "not-found")
        case 408: outcome(.retry, "timeout")
        case 410: outcome(.gone, "gone")
        case 413: outcome(.rejected, "payload-too-large")
        case 429 where code == 42908: dailyLimit
        case 429: outcome(.retry, "too-many-requests", .host)
        case 400...499: outcome(.rejected, "other")
        case 503: outcome(.retry, "server-error", .host)
        // What ntfy says while no phone listens to the topic, which is no other topic's affair.
        case 507: outcome(.retry, "insufficient-storage", .device)
        default: outcome(.retry, status >= 500 ? "server-error" : "other")
        }
    }

    /// The messages of this UTC day are used up: those of an account, of the topic's subscriber, or ours. ntfy does not
    /// say which, so nobody else is held up.
    private var dailyLimit: Outcome {
        let millisecondsPerDay: Int64 = 86_400_000
        let untilTomorrow = millisecondsPerDay - (now - Self.midnightMargin).milliseconds % millisecondsPerDay
        var outcome = outcome(.retry, "daily-limit", .device)
        outcome.retryAfter = max(outcome.retryAfter, .milliseconds(untilTomorrow))
        return outcome
    }

    private var unanswered: Outcome {
        switch failure {
        case "forbidden-address", "invalid-url": Outcome(.rejected, reason: failure)
        default: Outcome(.retry, reason: failure)
        }
    }

    /// The outcome of a kind, with the status and, for another attempt, the wait and its scope.
    public func outcome(_ kind: Outcome.Kind, _ reason: String, _ scope: Outcome.Scope = .usual) -> Outcome {
        Outcome(kind, status: status, retryAfter: kind == .retry ? retryAfter : .zero, reason: reason, scope: scope)
    }
}

/// RFC 9110 section 10.2.3.
enum RetryAfter {
    private static let longest: Duration = .milliseconds(Int64(UInt32.max))

    /// The wait that a field value asks for, at most what the host understands; zero when it cannot be read or is over.
    static func span(_ value: String, now: Timestamp) -> Duration {
        let value = value.trimmingBlanks
        if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return UInt32(value).map { min(.seconds(Int64($0)), longest) } ?? longest
        }
        guard let date = HTTPDate.moment(value) else { return .zero }
        return min(max(.zero, date - now), longest)
    }
}

extension String {
    fileprivate var trimmingBlanks: Substring {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var text = self[...].drop(while: isBlank)
        while let last = text.last, isBlank(last) {
            text.removeLast()
        }
        return text
    }
}

/// RFC 9110 section 5.6.7, the one form that senders may write: `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Nil when `text` is no such date.
    static func moment(_ text: some StringProtocol) -> Timestamp? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].utf8.count == 4, parts[0].hasSuffix(","), parts[5] == "GMT",
            let day = number(parts[1], digits: 2), (1...31).contains(day),
            let month = months.firstIndex(of: String(parts[2])),
            let year = number(parts[3], digits: 4), year >= 1970
        else { return nil }
        let time = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard time.count == 3,
            let hour = number(time[0], digits: 2), hour < 24,
            let minute = number(time[1], digits: 2), minute < 60,
            let second = number(time[2], digits: 2), second <= 60
        else { return nil }
        let days = CivilDate(year: year, month: Int64(month + 1), day: day).daysSince1970
        return Timestamp(seconds: days * 86_400 + hour * 3600 + minute * 60 + second)
    }

    private static func number(_ text: some StringProtocol, digits: Int) -> Int64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int64(text)
    }
}
