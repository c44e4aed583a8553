import Core

/// The results of a conformance test, and how it ended.
package struct ConformanceReport: Sendable, Hashable, Codable {
    /// How the process that ran the checks ended.
    package enum Ending: Sendable, Hashable, Codable {
        /// All checks ran.
        case complete
        /// The plugin crashed the process with this signal.
        case crashed(signal: Int32)
        /// The process exited before the last check; plugins must not call `exit`.
        case exited(status: Int32)
        /// No progress for this time.
        case hung(Duration)
    }

    package var path: String
    package var results: [CheckResult]
    package var ending: Ending

    package init(path: String, results: [CheckResult] = [], ending: Ending = .complete) {
        self.path = path
        self.results = results
        self.ending = ending
    }

    /// All checks ran and none failed.
    package var isPassed: Bool { ending == .complete && failures.isEmpty && !results.isEmpty }

    /// Merges the results of another process. They replace earlier results of the same checks.
    mutating func add(_ part: ConformanceReport) {
        for result in part.results {
            if let known = results.firstIndex(where: { $0.isOf(result.check, result.platform) }) {
                results[known] = result
            } else {
                results.append(result)
            }
        }
        ending = part.ending
    }

    /// The failed checks, in order.
    package var failures: [CheckResult] { results.filter { $0.decision == .failed } }
}

extension ConformanceReport: CustomStringConvertible {
    /// Readable lines: one for each check, its reason below it, and a summary at the end.
    package var description: String {
        var lines = results.map(\.description)
        let count = { decision in results.count { $0.decision == decision } }
        lines.append(
            "\(path): \(count(.passed)) passed, \(count(.failed)) failed, \(count(.skipped)) skipped"
                + (ending == .complete ? "" : "; the checks did not finish")
        )
        return lines.joined(separator: "\n")
    }
}

/// The result of one check.
package struct CheckResult: Sendable, Hashable, Codable {
    package enum Decision: String, Sendable, Hashable, Codable {
        case passed
        case failed
        case skipped
    }

    package var check: ConformanceCheck
    /// The checked transport, or `filter NAME`; nil for the library.
    package var platform: String?
    package var decision: Decision
    /// Why it failed or was skipped, for the plugin's author; a remark, or empty, if it passed.
    package var text: String

    package init(_ check: ConformanceCheck, platform: String? = nil, _ decision: Decision, _ text: String = "") {
        self.check = check
        self.platform = platform
        self.decision = decision
        self.text = text
    }

    func isOf(_ check: ConformanceCheck, _ platform: String?) -> Bool {
        self.check == check && self.platform == platform
    }
}

extension CheckResult: CustomStringConvertible {
    /// One readable line.
    package var description: String {
        let owner = platform.map { "\($0): " } ?? ""
        let line = "\(decision.rawValue)  \(owner)\(check.title) (\(check.rawValue))"
        return text.isEmpty ? line : "\(line)\n        \(text.replacing("\n", with: "\n        "))"
    }
}

/// The checks in execution order.
package enum ConformanceCheck: String, Sendable, Hashable, Codable, CaseIterable {
    case load
    case descriptor
    case describe
    case checkBlock = "check-block"
    case createEmpty = "create-empty"
    case createConfigured = "create-configured"
    case createHostile = "create-hostile"
    case validate
    case errorText = "error-text"
    case deliver
    case networkFailure = "network-failure"
    case serverError = "server-error"
    case throttling
    case refusal
    case oddAnswers = "odd-answers"
    case refusedRequest = "refused-request"
    case completes
    case completesOnce = "completes-once"
    case outcome
    case requests
    case services
    case userURLs = "user-urls"
    case secrets
    case messageID = "message-id"
    case modes
    case hostileText = "hostile-text"
    case borrowedMemory = "borrowed-memory"
    case newerHost = "newer-host"
    case instances
    case cancel
    case command
    case deliverMany = "deliver-many"
    case receive
    case threads
    case shutdown
    case decide
    case decision = "verdict"
    case needs

    /// The checks of transports.
    package static let ofTransports = allCases.filter { ![.decide, .decision, .needs].contains($0) }
    /// The checks of filters, in execution order.
    package static let ofFilters: [ConformanceCheck] = [.load, .descriptor] + FilterChecks.all.map(\.check)

    /// Whether later checks depend on its findings: a configuration, a registration, refusals, deliveries to check.
    var preparesOthers: Bool {
        switch self {
        case .load, .describe, .checkBlock, .createEmpty, .createConfigured, .createHostile, .validate, .deliver,
            .networkFailure, .serverError, .throttling, .refusal, .oddAnswers, .refusedRequest, .decide:
            true
        default: false
        }
    }

    /// The plugin's behaviour if the check passes.
    package var title: String {
        switch self {
        case .load: "loads as in the router"
        case .descriptor: "describes itself fully, and the same every time"
        case .describe: "describes its platform, with a sample that works"
        case .checkBlock: "checks rule blocks, the same every time"
        case .createEmpty: "accepts or refuses an empty configuration"
        case .createConfigured: "accepts the given configuration"
        case .createHostile: "survives hostile configurations"
        case .validate: "validates registrations, the same every time"
        case .errorText: "gives a reason when it refuses"
        case .deliver: "turns a notification into a request"
        case .networkFailure: "retries without a response"
        case .serverError: "retries after a 5xx response"
        case .throttling: "retries after 429, and reads Retry-After"
        case .refusal: "does not report a refusal as delivered"
        case .oddAnswers: "survives unusual responses"
        case .refusedRequest: "retries when the host refuses the request"
        case .completes: "ends every delivery it accepted"
        case .completesOnce: "ends no delivery twice"
        case .outcome: "gives outcomes of a known kind with a one-word reason"
        case .requests: "makes well-formed requests"
        case .services: "respects the limits of timers and state, and survives invalid state"
        case .userURLs: "fetches users' URLs only with CARILLON_HTTP_UNTRUSTED_URL"
        case .secrets: "keeps tokens and texts out of log and errors"
        case .messageID: "repeats a delivery under the same message id"
        case .modes: "shows no more than the mode allows"
        case .hostileText: "survives hostile texts and numbers, and escapes them"
        case .borrowedMemory: "reads only the memory it got"
        case .newerHost: "runs on a newer host"
        case .instances: "keeps two instances apart"
        case .cancel: "ends cancelled deliveries once"
        case .command: "answers operators' commands once"
        case .deliverMany: "ends each of several deliveries once"
        case .receive: "responds to inbound requests once"
        case .threads: "accepts many deliveries from many threads"
        case .shutdown: "ends all work before it is destroyed"
        case .decide: "decides about events of every kind"
        case .decision: "returns valid verdicts, with a short reason"
        case .needs: "requests no more than its flags allow"
        }
    }
}
