import Cipher
import Foundation

/// A message's parameters from headers or query, under any of ntfy's names.
struct NtfyParameters {
    private var values: [String: String] = [:]

    init(_ request: LabRequest) {
        values = Dictionary(request.query.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
        for header in request.headers {
            values[header.name] = RFC2047.decode(header.value)
        }
    }

    /// Reads the members of a message in JSON, under the names of the headers.
    init(_ members: [String: JSONValue]) {
        for (name, value) in members {
            switch value {
            case .string(let text): values[name] = text
            case .integer(let number) where number != 0: values[name] = String(number)
            case .bool(true): values[name] = "1"
            case .array(let list) where name == "tags": values[name] = list.compactMap(\.string).joined(separator: ",")
            case .array: values[name] = value.compact
            default: break
            }
        }
    }

    /// The first value that is not empty.
    subscript(names: String...) -> String? {
        names.lazy.compactMap { values[$0] }.first { !$0.isEmpty }
    }

    func isSet(_ names: String...) -> Bool {
        let value = names.lazy.compactMap { values[$0] }.first?.lowercased()
        return value == "1" || value == "yes" || value == "true"
    }

    var asksForUnifiedPush: Bool { isSet("x-unifiedpush", "unifiedpush", "up") }

    func priority() throws(NtfyError) -> Int? {
        switch self["x-priority", "priority", "prio", "p"]?.lowercased() {
        case nil: nil
        case "1", "min": 1
        case "2", "low": 2
        case "3", "default": 3
        case "4", "high": 4
        case "5", "max", "urgent": 5
        default: throw .priorityInvalid
        }
    }

    func icon() throws(NtfyError) -> String? {
        guard let icon = self["x-icon", "icon"] else { return nil }
        guard icon.hasPrefix("http://") || icon.hasPrefix("https://") else { throw .iconInvalid }
        return icon
    }

    /// When the message will be shown, in seconds since 1970. Of ntfy's forms, UNIX times and durations like `30m` are
    /// supported.
    func delay(now: Int64) throws(NtfyError) -> Int64? {
        guard let text = self["x-delay", "delay", "x-at", "at", "x-in", "in"] else { return nil }
        let time: Int64
        if let unixTime = Int64(text) {
            time = unixTime
        } else if let match = text.wholeMatch(of: /(\d{1,6})\s*([smhd])[a-z]*/), let count = Int64(match.1) {
            let seconds: [Substring: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
            time = now + count * (seconds[match.2] ?? 1)
        } else {
            throw .delayInvalid(40004, "delay parameter could not be parsed")
        }
        guard time >= now + 10 else { throw .delayInvalid(40005, "delay parameter too small") }
        guard time <= now + 3 * 86_400 else { throw .delayInvalid(40006, "delay parameter too large") }
        return time
    }
}

/// Encoded words in header values (RFC 2047): `=?UTF-8?B?w6k=?=`.
enum RFC2047 {
    static func decode(_ text: String) -> String {
        // A regular expression is made anew each time, which costs more than all else about a request.
        guard text.utf8.contains(UInt8(ascii: "?")) else { return text }
        // Blanks between two encoded words are ignored (section 6.2).
        return text.replacing(/\?=\s+=\?/, with: "?==?").replacing(/=\?(?i:utf-8)\?([BbQq])\?([^?\s]*)\?=/) { match in
            let bytes = match.1.lowercased() == "b" ? Base64.decode(String(match.2)) : quotedPrintable(match.2)
            return bytes.flatMap { String(validating: $0, as: UTF8.self) } ?? String(match.0)
        }
    }

    private static func quotedPrintable(_ text: Substring) -> [UInt8]? {
        text.replacing("_", with: " ").replacing("=", with: "%").removingPercentEncoding.map { Array($0.utf8) }
    }
}
