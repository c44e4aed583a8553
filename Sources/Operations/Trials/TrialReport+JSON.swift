import Cipher
import Foundation
import HTTPLanes
import Nostr
import Notifications
import PluginHost
import Rules

extension TrialReport {
    /// For machines: one JSON object on one line.
    package var json: String {
        var object: [String: Any] = [
            "name": subject.name, "kind": Int(subject.event.kind.rawValue), "event": subject.event.id.hex,
            "count": Int(subject.count),
        ]
        switch verdict {
        case .wakesNobody(let reason):
            object["wakes"] = false
            object["reason"] = reason
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

extension TrialDelivery {
    fileprivate var object: [String: Any] {
        let result: DryRunResult
        switch outcome {
        case .failed(let failure): return ["error": failure.description]
        case .spared(let reason): return ["nothing_goes_out": reason]
        case .made(let made): result = made
        }
        var object: [String: Any] = [
            "mode": result.mode.name,
            "reductions": result.reductions.map { ["mode": $0.mode.name, "reason": $0.reason] },
            "throw_away_keys": hasThrowAwayKeys,
        ]
        if let ruleName { object["rule"] = ruleName }
        guard let request = result.request else {
            object["error"] = "nothing goes out: \(result.reason)"
            return object
        }
        if !leftOut.isEmpty { object["left_out"] = leftOut }
        object["method"] = request.method
        object["url"] = request.url
        object["headers"] = Dictionary(request.readableHeaders.map { ($0.name, $0.value) }) { "\($0), \($1)" }
        if let text = String(validating: request.body, as: UTF8.self) {
            object["body"] = text
        } else {
            object["body_base64"] = Base64.encode(request.body)
        }
        if let readable = result.decrypted ?? unsealed {
            object["decrypted"] = String(decoding: readable, as: UTF8.self)
        }
        if let size = PushSize(request, platform: platform) {
            object["size"] = size.count
            object["limit"] = size.limit
        }
        return object
    }
}
