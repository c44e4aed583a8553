import PluginKit
import Units

/// Lines of a message's header (RFC 5322 section 2.2).
enum HeaderField {
    /// Lines are folded at blanks, so that none is longer if it can be helped.
    private static let width = 76

    /// A field with any text as its value. Whatever is not printable ASCII becomes encoded words, line breaks too.
    static func text(_ name: String, _ value: String) -> String { structured(name, EncodedWords.encode(value)) }

    /// A field whose value is printable ASCII of our own making.
    static func structured(_ name: String, _ value: String) -> String {
        var lines = ["\(name):"]
        for word in value.split(separator: " ") {
            let last = lines.count - 1
            if lines[last].utf8.count + 1 + word.utf8.count > width, lines[last].utf8.count > name.utf8.count + 1 {
                lines.append(" \(word)")
            } else {
                lines[last] += " \(word)"
            }
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    /// A name and an address: `"Carillon" <push@example.com>`.
    static func mailbox(_ name: String, _ address: EmailAddress) -> String {
        guard !name.isEmpty else { return address.text }
        let words = EncodedWords.encode(name)
        guard words == name else { return "\(words) <\(address.text)>" }
        let quoted = name.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
        return "\"\(quoted)\" <\(address.text)>"
    }

    /// RFC 5322 section 3.3: `Mon, 02 Feb 2026 02:40:00 +0000`.
    static func date(_ time: Timestamp) -> String {
        let days = time.seconds >= 0 ? time.seconds / 86_400 : (time.seconds - 86_399) / 86_400
        let second = time.seconds - days * 86_400
        let (year, month, day) = civil(days: days)
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let two = { (number: Int64) in number < 10 ? "0\(number)" : "\(number)" }
        let clock = "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
        let weekday = weekdays[Int((days % 7 + 7) % 7)]
        return "\(weekday), \(two(day)) \(months[Int(month - 1)]) \(year) \(clock) +0000"
    }

    /// The day in the Gregorian calendar, with years counted from March so that the leap day comes last.
    private static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}
