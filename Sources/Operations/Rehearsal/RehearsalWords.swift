import HTTPLanes
import Notifications
import PluginHost
import Units

// What a plugin's author reads of outcomes, verdicts and requests.

extension Outcome {
    /// What becomes of the notification, for a plugin's author.
    var sentence: String {
        let word = reason == "\(kind)" || reason.isEmpty ? "" : " (\(reason))"
        let status = status == 0 ? "" : ", status \(status)"
        switch kind {
        case .delivered: return "delivered\(word)\(status)"
        case .gone: return "gone\(word)\(status): the router forgets the device"
        case .rejected: return "rejected\(word)\(status): the router drops the notification"
        case .misconfigured:
            return "misconfigured\(word)\(status): the router pauses the platform and tells its operator"
        case .retry:
            let wait = retryAfter > .zero ? "after \(retryAfter.seconds) s" : "later"
            return "retry\(word)\(status): the router tries again \(wait)"
        }
    }
}

extension FilterVerdict {
    var sentence: String {
        switch self {
        case .pass: "pass"
        case .edited: "pass, with other texts"
        case .drop(let reason): "drop" + (reason.isEmpty ? "" : " (\(reason))")
        case .failed(let reason): "failed: \(reason)"
        }
    }
}

extension HTTPRequest {
    /// Everything that goes out, credentials too: those of a rehearsal are made up, or the author's own.
    var wholeTranscript: [String] {
        var lines = ["\(method) \(url)" + (untrustedURL ? "  (untrusted: never into a private network)" : "")]
        lines += headers.map { "\($0.name): \($0.value)" }
        guard !body.isEmpty else { return lines.map(\.printable) }
        let text = String(validating: body, as: UTF8.self) ?? "(\(body.count) bytes that are not text)"
        let isLong = text.count > Self.shownCharacters
        lines +=
            [""]
            + text.prefix(Self.shownCharacters).split(separator: "\n", omittingEmptySubsequences: false).map(
                String.init
            )
        return lines.map(\.printable) + (isLong ? ["… (\(body.count) bytes)"] : [])
    }

    private static var shownCharacters: Int { 1000 }

    /// Where it goes.
    var rehearsedLine: String { "\(method) \(url)".printable }

    /// The beginning of the body, on one line.
    var shortBody: String {
        guard let text = String(validating: body, as: UTF8.self) else {
            return "(\(body.count) bytes that are not text)"
        }
        return (text.count > 160 ? text.prefix(160) + "…" : text).printable
    }
}

extension String {
    /// With what would move a terminal's cursor or turn its text around written as a number.
    var printable: String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control: text += "\\u{\(String(scalar.value, radix: 16))}"
            case .format where scalar.value != 0x200d: text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
