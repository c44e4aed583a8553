/// What is checked, in the order in which it is checked.
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
    case olderHost = "older-host"
    case newerHost = "newer-host"
    case instances
    case cancel
    case command
    case deliverMany = "deliver-many"
    case receive
    case threads
    case shutdown
    case decide
    case verdict
    case needs

    /// Of transports only.
    package static let ofTransports = allCases.filter { ![.decide, .verdict, .needs].contains($0) }
    /// Of filters, in the order in which it is checked.
    package static let ofFilters: [ConformanceCheck] = [.load, .descriptor] + FilterChecks.all.map(\.check)

    /// Whether later checks go by what this one finds out or leaves behind: a configuration, a registration, refusals,
    /// deliveries to judge.
    var preparesOthers: Bool {
        switch self {
        case .load, .describe, .checkBlock, .createEmpty, .createConfigured, .createHostile, .validate, .deliver,
            .networkFailure, .serverError, .throttling, .refusal, .oddAnswers, .refusedRequest, .decide:
            true
        default: false
        }
    }

    /// What the plugin does when the check passes, for people.
    package var title: String {
        switch self {
        case .load: "loads as the router loads it"
        case .descriptor: "describes itself fully, and the same every time"
        case .describe: "describes its platform, with a sample that works"
        case .checkBlock: "checks rule blocks, the same every time"
        case .createEmpty: "takes or refuses an empty configuration"
        case .createConfigured: "takes the configuration given"
        case .createHostile: "survives hostile configurations"
        case .validate: "validates registrations, the same every time"
        case .errorText: "says why it refuses"
        case .deliver: "makes a request of a notification"
        case .networkFailure: "tries again when no answer arrives"
        case .serverError: "tries again after a 5xx answer"
        case .throttling: "tries again after 429, and reads Retry-After"
        case .refusal: "takes no refusal for a delivery"
        case .oddAnswers: "survives odd answers"
        case .refusedRequest: "tries again when the host takes no request"
        case .completes: "ends every delivery it accepted"
        case .completesOnce: "ends no delivery twice"
        case .outcome: "gives outcomes of a known kind with a one-word reason"
        case .requests: "makes well-formed requests"
        case .services: "keeps to the limits of timers and state, and survives what it finds kept"
        case .userURLs: "fetches users' URLs only with CARILLON_HTTP_UNTRUSTED_URL"
        case .secrets: "keeps tokens and texts out of log and errors"
        case .messageID: "repeats a delivery under the same message id"
        case .modes: "shows no more than the mode allows"
        case .hostileText: "survives hostile texts and numbers, and escapes them"
        case .borrowedMemory: "reads no further than it was lent"
        case .olderHost: "runs on the oldest host"
        case .newerHost: "runs on a newer host"
        case .instances: "keeps two instances apart"
        case .cancel: "ends what is cancelled once"
        case .command: "answers operators' commands once"
        case .deliverMany: "ends each of several deliveries once"
        case .receive: "answers requests from outside once"
        case .threads: "takes many deliveries from many threads"
        case .shutdown: "ends all work before it is destroyed"
        case .decide: "decides about events of every sort"
        case .verdict: "gives verdicts there are, with a short reason"
        case .needs: "asks for no more than its flags say"
        }
    }
}
