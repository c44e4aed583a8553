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

/// What became of one event in a trial.
package struct TrialReport: Sendable {
    let subject: TrialSubject
    let decision: TrialJudge.Decision
    /// The rule allows less than the device asked for.
    var isCutByRule = false
    /// By platform; none for what wakes nobody.
    package var deliveries: [TrialDelivery] = []

    init(subject: TrialSubject, decision: TrialJudge.Decision) {
        self.subject = subject
        self.decision = decision
    }

    /// Why nobody is woken; nil when somebody is.
    package var silence: String? {
        if case .wakesNobody(let reason, _) = decision { return reason.words }
        return nil
    }

    /// The rule that decided to wake somebody.
    package var ruleName: String? {
        if case .wakes(let wakeUp) = decision { return wakeUp.rule.name }
        return nil
    }

    /// Whether there is a platform that nothing would go out to though it should.
    package var hasFailures: Bool {
        deliveries.contains(where: \.isFailure)
    }
}

/// What one platform's push service would get in a trial.
package struct TrialDelivery: Sendable {
    package enum Outcome: Sendable {
        /// What the plugin made of it.
        case made(TrialResult)
        /// What the plugin says against its block or the device.
        case failed(TrialFailure)
        /// Nothing is meant to go out, with the reason.
        case spared(Sentence)
    }

    package let platform: String
    /// Whether the platform's block has keys that were made up.
    package let hasThrowAwayKeys: Bool
    /// The rule's keys for which the event gives no fitting value.
    package let leftOut: [String]
    package var outcome: Outcome
    /// What the device finds in the envelope inside of the body, as JSON; nil when there is none.
    package var unsealed: [UInt8]?
    /// The rule that decided, where it is another one than for the platforms before.
    package var ruleName: String?
    /// Nil where nothing would go out, and where the plugin says nothing about sizes.
    var size: PushSize?

    /// Nil when nothing would go out.
    package var request: HTTPRequest? {
        if case .made(let result) = outcome { return result.request }
        return nil
    }

    /// Whether something should go out and does not.
    var isFailure: Bool {
        switch outcome {
        case .spared: false
        case .made(let result): result.request == nil && result.stream == nil
        case .failed: true
        }
    }
}

extension TrialReport {
    /// For a person: what decided, then a block for each platform.
    package var text: String {
        ([head] + deliveries.map(\.text)).joined(separator: "\n\n")
    }

    private var head: String {
        let what = subject.count > 1 ? "\(subject.count) events of kind" : "kind"
        let title = "\(subject.name) (\(what) \(subject.event.kind.rawValue))"
        switch decision {
        case .wakesNobody(let reason, _): return "\(title)\n  wakes nobody: \(reason.words)"
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
        case .spared(let reason): return "\(line)\nnothing goes out: \(reason.words)"
        case .made(let result):
            if result.request == nil, let stream = result.stream {
                return "\(line)\nmode: \(modes(result))\ngoes out over a connection to \(stream), which is not tried"
            }
            guard let request = result.request else {
                return "\(line)\nmode: \(modes(result))\nnothing goes out: \(result.reason)"
            }
            let size = size.map { "\nsize: \($0.count.bytes) of \($0.limit.bytes) bytes" } ?? ""
            let without = leftOut.isEmpty ? [] : ["without: \(leftOut.joined(separator: ", ")), which came out unfit"]
            return
                ([line, "mode: \(modes(result))\(size)"] + without + [request.transcriptHead]
                + body(result, request))
                .joined(separator: "\n")
        }
    }

    /// What went out, and what did not.
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
    /// For machines: one JSON object on one line.
    package var json: String {
        var object: [String: Any] = [
            "name": subject.name, "kind": Int(subject.event.kind.rawValue), "event": subject.event.id.hex,
            "count": Int(subject.count),
        ]
        switch decision {
        case .wakesNobody(let reason, _):
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
            object["error"] = "nothing goes out: \(result.reason)"
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

/// How large a push is in the way its service counts, and how large it may be.
package struct PushSize: Sendable, Equatable {
    let count: ByteCount
    let limit: ByteCount

    /// Nil where the plugin says nothing about sizes, and where the request has none of what counts.
    init?(_ request: HTTPRequest, _ limits: PushLimits?) {
        let headers = request.headers.map { (name: $0.name, value: $0.value) }
        guard let size = limits?.size(ofBody: request.body, headers: headers) else { return nil }
        (count, limit) = size
    }
}
