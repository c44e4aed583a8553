package import CarillonABI
import Core

/// The response to a request, or the reason why there is none; borrowed for the duration of the completion. The host
/// follows no redirects. Example: `if response.status == 429 { delay = response.retryAfter(now: .now()) }`.
public struct HTTPResponse: ~Copyable {
    private let abi: carillon_http_response

    /// Wraps the ABI's struct; a missing one means that no response arrived.
    package init(_ pointer: UnsafePointer<carillon_http_response>?) {
        abi = pointer.map(carillon_http_response.adopt) ?? carillon_http_response()
    }

    /// The HTTP status, or 0 if no response arrived.
    public var status: UInt32 { abi.status }

    /// The body, truncated at the request's `maxResponseBytes`.
    public var body: BorrowedText { BorrowedText(abi.body) }

    /// The host's reason why no response arrived: one word that can be an outcome's reason. Default: `no-answer`.
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

    /// Returns the first header of that name, which is in lower case, or nil.
    public func header(_ name: StaticString) -> BorrowedText? {
        guard let headers = abi.headers else { return nil }
        for header in UnsafeBufferPointer(start: headers, count: abi.header_count)
        where BorrowedText(header.name) == name {
            return BorrowedText(header.value)
        }
        return nil
    }

    /// Returns the delay that `Retry-After` asks for (RFC 9110 section 10.2.3: seconds or a date); zero if the header
    /// is missing or malformed.
    public func retryAfter(now: Timestamp) -> Duration {
        guard let field = header("retry-after") else { return .zero }
        return RetryAfter.span(field.string, now: now)
    }
}

/// The response of a push service that users choose, and the outcome that follows from it (RFC 8030 section 5;
/// UnifiedPush SERV_1.2.0).
///
/// The outcome is never ``Outcome/Kind/misconfigured``. Users choose the push services, so a service that responds 401
/// or 403 must not stop the messages to all others: the message is dropped and the device stays registered. A request
/// to slow down applies only to that service's host.
///
/// Example: `ticket.complete(PushServiceAnswer(response, now: .now()).outcome)`.
public struct PushServiceAnswer {
    /// The HTTP status, 100 to 599.
    public let status: UInt32
    /// The delay that `Retry-After` asks for.
    private let retryAfter: Duration
    /// The reason why there is no response, if `status` is 0.
    private let failure: String
    /// The error code of ntfy in the body, as in `{"code":42908,…}`.
    public let code: Int64?
    private let now: Timestamp

    /// The delay after midnight before the next request to ntfy, in case its clock is behind ours.
    private static let midnightMargin: Duration = .seconds(30)

    public init(_ response: borrowing HTTPResponse, now: Timestamp) {
        status = response.status
        failure = response.failure
        retryAfter = response.retryAfter(now: now)
        code = response.status >= 400 ? (try? response.body.jsonObject())?["code"]?.integer : nil
        self.now = now
    }

    /// The outcome for the status, and for ntfy's code when a day's messages are used up.
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
        // ntfy responds this while no phone subscribes to the topic, which does not affect other topics.
        case 507: outcome(.retry, "insufficient-storage", .device)
        default: outcome(.retry, status >= 500 ? "server-error" : "other")
        }
    }

    /// The outcome when this UTC day's messages are used up: those of an account, of the topic's subscriber, or ours.
    /// ntfy does not report which, so only this device is delayed.
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

    /// Returns an outcome with the status and, for a retry, the delay and its scope.
    public func outcome(_ kind: Outcome.Kind, _ reason: String, _ scope: Outcome.Scope = .usual) -> Outcome {
        Outcome(kind, status: status, retryAfter: kind == .retry ? retryAfter : .zero, reason: reason, scope: scope)
    }
}

/// The header `Retry-After` (RFC 9110 section 10.2.3).
enum RetryAfter {
    private static let longest: Duration = .milliseconds(Int64(UInt32.max))

    /// Returns the delay that a header asks for, up to the host's limit; zero if it is malformed or in the past.
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

/// Parses the date format that senders must use (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns the time, or nil if `text` is not such a date.
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
