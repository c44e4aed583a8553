import Units

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
        let days = daysSince1970(year, Int64(month + 1), day)
        return Timestamp(seconds: days * 86_400 + hour * 3600 + minute * 60 + second)
    }

    private static func number(_ text: some StringProtocol, digits: Int) -> Int64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int64(text)
    }

    /// In the proleptic Gregorian calendar, with years counted from March so that the leap day comes last.
    private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let monthFromMarch = (month + 9) % 12
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let daysBeforeYear = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400
        return daysBeforeYear + dayOfYear - 719_468
    }
}
