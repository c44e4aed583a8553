import HTTPLanes
import Nostr
import Notifications
import PluginHost
import Rules

extension TrialReport {
    /// For a person: what decided, then a block for each platform.
    package var text: String {
        ([head] + deliveries.map(\.text)).joined(separator: "\n\n")
    }

    private var head: String {
        let what = subject.count > 1 ? "\(subject.count) events of kind" : "kind"
        let title = "\(subject.name) (\(what) \(subject.event.kind.rawValue))"
        switch verdict {
        case .wakesNobody(let reason): return "\(title)\n  wakes nobody: \(reason)"
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
        case .spared(let reason): return "\(line)\nnothing goes out: \(reason)"
        case .made(let result):
            guard let request = result.request else {
                return "\(line)\nmode: \(modes(result))\nnothing goes out: \(result.reason)"
            }
            let size = PushSize(request, platform: platform).map { "\nsize: \($0.count) of \($0.limit) bytes" } ?? ""
            let without = leftOut.isEmpty ? [] : ["without: \(leftOut.joined(separator: ", ")), which came out unfit"]
            return
                ([line, "mode: \(modes(result))\(size)"] + without + [request.transcriptHead]
                + body(result, request))
                .joined(separator: "\n")
        }
    }

    /// What went out, and what did not.
    private func modes(_ result: DryRunResult) -> String {
        result.reductions.isEmpty
            ? result.mode.name
            : result.mode.name + ", after "
                + result.reductions.map { "\($0.mode.name) (\($0.reason))" }.joined(separator: " and ")
    }

    private func body(_ result: DryRunResult, _ request: HTTPRequest) -> [String] {
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
        IndentedJSON.text(bytes) ?? String(validating: bytes, as: UTF8.self)
            ?? "(\(bytes.count) bytes that are not text)"
    }
}
