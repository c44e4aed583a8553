import Cipher
import Console
import Core
import Foundation
import HTTPClient
import JSON
import Nostr
import PluginHost
import Push
import Rules

/// The result of a rules trial for one event.
package struct TrialReport: Sendable {
    let subject: TrialSubject
    let decision: TrialEvaluator.Decision
    /// Whether the rule allows less content than the device requested.
    var isCutByRule = false
    /// One for each platform; empty if no notification is sent.
    package var deliveries: [TrialDelivery] = []

    /// Why no notification is sent; `nil` if one is sent.
    package var silence: String? {
        if case .silent(let reason, _) = decision { return reason.words }
        return nil
    }

    /// The rule that decided to notify.
    package var ruleName: String? {
        if case .wakes(let wakeUp) = decision { return wakeUp.rule.name }
        return nil
    }

    /// Whether a notification to any platform failed.
    package var hasFailures: Bool {
        deliveries.contains(where: \.isFailure)
    }
}

/// The push that one platform's service would receive.
package struct TrialDelivery: Sendable {
    package enum Outcome: Sendable {
        /// The plugin made a push.
        case made(TrialResult)
        /// The plugin reported an error in its block or the device.
        case failed(TrialError)
        /// The rules send no push to this platform, with the reason.
        case spared(Sentence)
    }

    package let platform: String
    /// Whether the platform's block has sample keys.
    package let hasThrowAwayKeys: Bool
    /// The rule's keys that are omitted because the event has no fitting value.
    package let leftOut: [String]
    package var outcome: Outcome
    /// The decrypted JSON of the envelope in the body; `nil` if there is none.
    package var unsealed: [UInt8]?
    /// The rule that decided, if it differs from the earlier platforms' rule.
    package var ruleName: String?
    /// `nil` if no push is sent, or if the plugin declares no size limits.
    var size: PushSize?

    /// `nil` if no push is sent.
    package var request: HTTPRequest? {
        if case .made(let result) = outcome { return result.request }
        return nil
    }

    /// Whether a push should be sent but failed.
    var isFailure: Bool {
        switch outcome {
        case .spared: false
        case .made(let result): result.request == nil && result.stream == nil
        case .failed: true
        }
    }
}

extension TrialReport {
    /// The report for people: the decision, then a block for each platform.
    package var text: String {
        ([head] + deliveries.map(\.text)).joined(separator: "\n\n")
    }

    private var head: String {
        let what = subject.count > 1 ? "\(subject.count) events of kind" : "kind"
        let title = "\(subject.name) (\(what) \(subject.event.kind.rawValue))"
        switch decision {
        case .silent(let reason, _): return "\(title)\n  no notification: \(reason.words)"
        case .wakes(let wakeUp):
            let place = wakeUp.rule.place.map { " (\($0))" } ?? ""
            return """
                \(title)
                  rule: \(wakeUp.rule.name)\(place)
                  signal: \(wakeUp.signal.rawValue)\(isCutByRule ? "\n  mode: the rule allows less than was asked for" : "")
                """
        }
    }
}

extension TrialDelivery {
    fileprivate var text: String {
        let title = "── \(platform)\(hasThrowAwayKeys ? ", with throw-away keys" : "") "
        let line =
            title + String(repeating: "─", count: max(0, 80 - title.count)) + (ruleName.map { "\nrule: \($0)" } ?? "")
        switch outcome {
        case .failed(let failure): return "\(line)\n\(failure)"
        case .spared(let reason): return "\(line)\nnot sent: \(reason.words)"
        case .made(let result):
            if result.request == nil, let stream = result.stream {
                return "\(line)\nmode: \(modes(result))\nsent over a connection to \(stream), which is not tested"
            }
            guard let request = result.request else {
                return "\(line)\nmode: \(modes(result))\nnot sent: \(result.reason)"
            }
            let size = size.map { "\nsize: \($0.count.bytes) of \($0.limit.bytes) bytes" } ?? ""
            let without = leftOut.isEmpty ? [] : ["without: \(leftOut.joined(separator: ", ")), which are invalid"]
            return
                ([line, "mode: \(modes(result))\(size)"] + without + [request.transcriptHead]
                + body(result, request))
                .joined(separator: "\n")
        }
    }

    /// The mode that was sent, and those that were rejected.
    private func modes(_ result: TrialResult) -> String {
        result.reductions.isEmpty
            ? result.mode.name
            : result.mode.name + ", after "
                + result.reductions.map { "\($0.mode.name) (\($0.reason))" }.joined(separator: " and ")
    }

    private func body(_ result: TrialResult, _ request: HTTPRequest) -> [String] {
        if request.body.isEmpty { return [] }
        if let decrypted = result.decrypted {
            return [
                "", "(\(request.body.count) bytes, encrypted to the device, which reads:)", Self.readable(decrypted),
            ]
        }
        guard let unsealed else { return ["", Self.readable(request.body)] }
        return [
            "", SealedBody.cutShort(Self.readable(request.body)), "", "(sealed to the device, which reads:)",
            Self.readable(unsealed),
        ]
    }

    private static func readable(_ bytes: [UInt8]) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return "(\(bytes.count) bytes that are not text)"
        }
        guard let json = try? JSONValue(parsing: text, duplicates: .lastCounts), json.isContainer else { return text }
        return json.prettyPrinted
    }
}

extension TrialReport {
    /// The report for programs: one JSON object on one line.
    package var json: String {
        var object: [String: Any] = [
            "name": subject.name, "kind": Int(subject.event.kind.rawValue), "event": subject.event.id.hex,
            "count": Int(subject.count),
        ]
        switch decision {
        case .silent(let reason, _):
            object["wakes"] = false
            object["reason"] = reason.words
            object["says"] = reason.says.object
        case .wakes(let wakeUp):
            var rule: [String: Any] = ["name": wakeUp.rule.name]
            if let place = wakeUp.rule.place {
                rule["file"] = place.file
                rule["line"] = place.line
            }
            object["wakes"] = true
            object["rule"] = rule
            object["signal"] = wakeUp.signal.rawValue
            object["platforms"] = Dictionary(deliveries.map { ($0.platform, $0.object) }) { first, _ in first }
        }
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        return data.map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}

extension Statement {
    fileprivate var object: [String: Any] { ["code": code, "values": values] }
}

extension TrialDelivery {
    fileprivate var object: [String: Any] {
        let result: TrialResult
        switch outcome {
        case .failed(let failure):
            var object: [String: Any] = ["error": failure.description]
            object["says"] = failure.says?.object
            return object
        case .spared(let reason): return ["nothing_goes_out": reason.words, "says": reason.says.object]
        case .made(let made): result = made
        }
        var object: [String: Any] = [
            "mode": result.mode.name,
            "reductions": result.reductions.map { ["mode": $0.mode.name, "reason": $0.reason] },
            "throw_away_keys": hasThrowAwayKeys,
        ]
        if let ruleName { object["rule"] = ruleName }
        if result.request == nil, let stream = result.stream {
            object["stream"] = stream
            return object
        }
        guard let request = result.request else {
            object["error"] = "not sent: \(result.reason)"
            object["says"] = Statement("not-made", ["reason": result.reason]).object
            return object
        }
        if !leftOut.isEmpty { object["left_out"] = leftOut }
        object["method"] = request.method
        object["url"] = request.readableURL
        object["headers"] = Dictionary(request.readableHeaders.map { ($0.name, $0.value) }) { "\($0), \($1)" }
        if let text = String(validating: request.body, as: UTF8.self) {
            object["body"] = text
        } else {
            object["body_base64"] = Base64.encode(request.body)
        }
        if let readable = result.decrypted ?? unsealed {
            object["decrypted"] = String(decoding: readable, as: UTF8.self)
        }
        if let size {
            object["size"] = size.count.bytes
            object["limit"] = size.limit.bytes
        }
        return object
    }
}

/// The size of a push as its service counts it, and the limit.
package struct PushSize: Sendable, Equatable {
    let count: ByteCount
    let limit: ByteCount

    /// Returns `nil` if the plugin declares no limits, or if the request has none of the counted parts.
    init?(_ request: HTTPRequest, _ limits: PushLimits?) {
        let headers = request.headers.map { (name: $0.name, value: $0.value) }
        guard let size = limits?.size(ofBody: request.body, headers: headers) else { return nil }
        (count, limit) = size
    }
}
