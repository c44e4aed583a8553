import Core
import PluginKit

/// The meanings of a service's responses, row by row: the first matching row decides. Without a row, 2xx means
/// delivered. Other responses drop or delay the message, and never remove a device or pause the queue.
struct AnswerTable: Sendable {
    private let rows: [AnswerRow]
    private let isUsersOwn: Bool

    /// Reads the table; `isUsersOwn`: whether users choose the host.
    init(_ block: JSONObject, isUsersOwn: Bool) throws(PluginError) {
        self.isUsersOwn = isUsersOwn
        var rows: [AnswerRow] = []
        if let list = block["answers"], !list.isNull {
            guard let elements = list.elements else {
                throw PluginError("answers: expected a list, found \(list.kind)")
            }
            for (index, element) in elements.enumerated() {
                let row = try PluginError.at("answers.\(index)") { () throws(PluginError) in
                    guard let row = element.object else {
                        throw PluginError("expected a mapping such as {status: 404, outcome: gone}")
                    }
                    return try AnswerRow(row)
                }
                rows.append(row)
            }
        }
        self.rows = rows
    }

    func outcome(_ response: borrowing HTTPResponse, now: Timestamp) -> Outcome {
        let answer = PushServiceAnswer(response, now: now)
        if response.status > 0 {
            let body = try? response.body.jsonObject()
            for row in rows where row.fits(response, body) {
                return row.outcome(of: answer, body)
            }
        }
        let scope = isUsersOwn ? Outcome.Scope.host : .device
        return switch answer.status {
        case 400: answer.outcome(.rejected, "bad-request")
        case 404: answer.outcome(.rejected, "not-found")
        case 410: answer.outcome(.rejected, "gone")
        case 429: answer.outcome(.retry, "too-many-requests", scope)
        case 503: answer.outcome(.retry, "server-error", scope)
        default: answer.outcome
        }
    }
}

/// One row: a status and text of the body, and the resulting outcome.
private struct AnswerRow: Sendable {
    private static let kinds: KeyValuePairs<String, Outcome.Kind> = [
        "delivered": .delivered, "gone": .gone, "rejected": .rejected, "retry": .retry, "misconfigured": .misconfigured,
    ]
    private static let scopes: KeyValuePairs<String, Outcome.Scope> = [
        "device": .device, "host": .host, "app": .transport,
    ]

    private enum Wait: Sendable {
        case fixed(Duration)
        /// Reads the delay from the body, in units of `milliseconds`.
        case read(JSONPointer, milliseconds: Double)
    }

    private static let reasonLimit = 40
    private static let longestWait: Double = 86_400_000

    private let statuses: ClosedRange<UInt32>
    private let contained: String?
    private let members: [(pointer: JSONPointer, value: JSONValue)]
    private let kind: Outcome.Kind
    private let reason: String
    private let wait: Wait?
    private let scope: Outcome.Scope

    init(_ row: JSONObject) throws(PluginError) {
        try row.refuseMembers(except: ["status", "contains", "when", "outcome", "reason", "wait", "wait_ms", "holds"])
        statuses = try Self.statuses(row)
        contained = try row.text("contains", expected: "a text in the response's body")
        let conditions =
            try row.mapping("when", expected: "values by their JSON pointers, such as /error") ?? JSONObject()
        var members: [(JSONPointer, JSONValue)] = []
        for index in 0..<conditions.count {
            let member = conditions.member(at: index)
            guard let pointer = JSONPointer(member.key), member.value.literalText != nil else {
                throw PluginError("when: expected a string, a number or a boolean after a JSON pointer such as /error")
            }
            members.append((pointer, member.value))
        }
        self.members = members
        let word = row["outcome"]?.string ?? ""
        kind = try Self.choice("outcome", word, of: Self.kinds)
        reason = try row.text("reason", expected: "one word") ?? word
        guard (1...Self.reasonLimit).contains(reason.utf8.count),
            reason.utf8.allSatisfy({ $0.isASCIIDigit || $0 == UInt8(ascii: "-") || (0x61...0x7A).contains($0) })
        else { throw PluginError("reason: expected 1 to \(Self.reasonLimit) of a-z, 0-9 and -") }
        let inSeconds = try Self.wait("wait", row, milliseconds: 1000)
        let inMilliseconds = try Self.wait("wait_ms", row, milliseconds: 1)
        wait = inSeconds ?? inMilliseconds
        scope = try Self.choice("holds", row["holds"].map { $0.string ?? "" } ?? "device", of: Self.scopes)
        if kind != .retry, let key = ["wait", "wait_ms", "holds"].first(where: { row.contains(named: $0) }) {
            throw PluginError("\(key): only allowed with the outcome retry")
        }
    }

    private static func choice<Choice>(
        _ key: StaticString,
        _ word: String,
        of choices: KeyValuePairs<String, Choice>
    ) throws(PluginError) -> Choice {
        guard let choice = choices.first(where: { $0.key == word }) else {
            throw PluginError("\(key): expected \(choices.map(\.key).joined(separator: " or "))")
        }
        return choice.value
    }

    /// Reads a status such as 404, or a class such as 5xx.
    private static func statuses(_ row: JSONObject) throws(PluginError) -> ClosedRange<UInt32> {
        let text = row["status"]?.literalText ?? "any"
        if text == "any" { return 1...999 }
        if let status = UInt32(text), (100...599).contains(status) { return status...status }
        if text.hasSuffix("xx"), let hundreds = UInt32(text.dropLast(2)), (1...5).contains(hundreds) {
            return hundreds * 100...hundreds * 100 + 99
        }
        throw PluginError("status: expected a status such as 404, a class such as 5xx, or nothing for any")
    }

    private static func wait(_ key: StaticString, _ row: JSONObject, milliseconds: Double) throws(PluginError) -> Wait?
    {
        guard let value = row[key], !value.isNull else { return nil }
        if let number = value.number, (0...longestWait).contains(number * milliseconds) {
            return .fixed(.milliseconds(Int64(number * milliseconds)))
        }
        guard let pointer = value.string.flatMap(JSONPointer.init) else {
            throw PluginError(
                "\(key): expected a length of time of at most a day, or a JSON pointer such as /retry_after"
            )
        }
        return .read(pointer, milliseconds: milliseconds)
    }

    func fits(_ response: borrowing HTTPResponse, _ body: JSONObject?) -> Bool {
        guard statuses.contains(response.status) else { return false }
        if let contained, !response.body.string.contains(contained) { return false }
        return members.allSatisfy { pointer, value in body.flatMap(pointer.value)?.literalText == value.literalText }
    }

    func outcome(of answer: PushServiceAnswer, _ body: JSONObject?) -> Outcome {
        var outcome = answer.outcome(kind, reason, scope)
        switch wait {
        case nil: break
        case .fixed(let wait): outcome.retryAfter = max(outcome.retryAfter, wait)
        case .read(let pointer, let milliseconds):
            guard let number = body.flatMap(pointer.value)?.number, number > 0 else { break }
            let wait = Duration.milliseconds(Int64(min(number * milliseconds, Self.longestWait).rounded(.up)))
            outcome.retryAfter = max(outcome.retryAfter, wait)
        }
        return outcome
    }
}
